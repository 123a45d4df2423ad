"""A document becomes bytes: HTML, PDF, Markdown, JUnit.

Where a library has no door for what a report needs, names inside it are used, here and in
`ops.verification`. These are all of them; a test fails once a version comes that they were not tried with.

========== ===== ================================= =============================== ================================
Library    Below Where it stands                   Name                            What we use it for
========== ===== ================================= =============================== ================================
weasyprint 71    weasyprint.HTML                   _ua_stylesheets                 `defaults`: unused rules
weasyprint 71    weasyprint.document.Page          _page_box                       `tags`: the tag of each cell
weasyprint 71    weasyprint.document.Page          links                           `tags`: one link, not two
weasyprint 71    weasyprint.pdf.tags               mark                            `tags`: headers of cells
weasyprint 71    weasyprint.pdf.tags               ParentTree                      `tags`: running heads
weasyprint 71    weasyprint.pdf.metadata           generate_rdf_metadata           `printer`: PDF/UA-1
weasyprint 71    weasyprint.pdf.anchors            /Filespec                       `printer`: media types
weasyprint 71    weasyprint.text.line_break.Layout reactivate                      `texts`: lines kept
weasyprint 71    weasyprint.text.line_break.Layout set_text                        `texts`: lines of one paragraph
weasyprint 71    weasyprint.text.line_break        get_font_description            `texts`: once for each style
weasyprint 71    weasyprint.text.line_break        _font_style_cache_key           `texts`: once for each style
weasyprint 71    weasyprint.layout.inline          split_first_line                `texts`: lines that are the same
weasyprint 71    weasyprint.svg                    _etree_node                     `texts`: labels as a whole
weasyprint 71    weasyprint.svg                    color                           `texts`: once for each name
weasyprint 71    weasyprint.layout.percent         resolve_percentages             `lengths`: once for each style
weasyprint 71    weasyprint.layout.percent         resolve_radii_percentages       `lengths`: once for each style
weasyprint 71    weasyprint.layout.background      layout_box_backgrounds          `borders`: once for each style
weasyprint 71    weasyprint.pdf.fonts              subset                          `weasy`: imported where used
weasyprint 71    weasyprint.pdf.fonts              instantiateVariableFont         `weasy`: imported where used
jinja2     3.2   jinja2.compiler.CodeGenerator     visit_ScopedEvalContextModifier `environment`: escaping
pyhanko    0.39  pyhanko.pdf_utils.reader          _get_object_from_stream         `pdf_reader`: long reports
========== ===== ================================= =============================== ================================
"""
