# The whole report of a model in R: source("audit.R"); audit(explainer), with a DALEX explainer or a list of the same
# fields (model, data, y, predict_function, label). Further arguments are flags of uq-report: "--explainers", "pfi,pdp".
# A vector of predictions is the probability of the second class: 1 of numbers 0 and 1, the second level of a factor.
# Of numbers: columns = function(p) data.frame(mean = p, sd = sigma(model)), or quantiles as q05, q50, q95, or draws.
audit <- function(explainer, ..., folder = "audit", program = "uq-report",
                  classes = if (is.factor(explainer$y)) levels(explainer$y) else 0:1,
                  columns = function(p) if (is.matrix(p)) setNames(as.data.frame(p), paste0("p_", colnames(p)))
                                        else setNames(data.frame(1 - p, p), paste0("p_", classes))) {
  dir.create(folder, showWarnings = FALSE)
  write <- function(table, name) write.csv(table, file.path(folder, name), row.names = FALSE)
  write(cbind(explainer$data, target = explainer$y), "data.csv")
  call <- c("plan", folder, "--data", file.path(folder, "data.csv"), "--target", "target", "--label",
            shQuote(c(explainer$label, "R model")[1]), "--output", file.path(folder, "report"), "--quiet", ...)
  while ((code <- suppressWarnings(system2(program, call, env = "LD_LIBRARY_PATH="))) == 75) {
    rows <- read.csv(file.path(folder, "rows.csv"), check.names = FALSE)
    for (name in names(rows)) {
      own <- explainer$data[[name]]
      rows[[name]] <- if (is.factor(own)) factor(rows[[name]], levels(own)) else as(rows[[name]], class(own)[1])
    }
    p <- columns(explainer$predict_function(explainer$model, rows))
    write(format(p, digits = 17, trim = TRUE), "predictions.csv")
  }
  invisible(code)
}
