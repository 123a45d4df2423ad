# Predictions of an R model for uq_report: Rscript predict.R rows.csv predictions.csv
# audit.toml: [model] command = "Rscript predict.R {rows} {predictions}"
files <- commandArgs(trailingOnly = TRUE)
model <- readRDS("model.rds") # a glm(..., family = binomial) whose second class is "bad"
rows <- read.csv(files[1], stringsAsFactors = TRUE)
p <- predict(model, rows, type = "response")
write.csv(data.frame(p_good = 1 - p, p_bad = p), files[2], row.names = FALSE)
# of numbers: data.frame(mean = m, sd = s), or quantiles as q05, q50, q95, or draws as draw_1, draw_2 ...
