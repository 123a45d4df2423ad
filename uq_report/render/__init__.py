"""A document becomes bytes: HTML, PDF, Markdown, JUnit.

Where a library has no door for what a report needs, names inside it are used. These are all
of them; a test fails once a version comes that they were not tried with.

========== ===== ================================= =============================== ================================
Library    Below Where it stands                   Name                            What we use it for
========== ===== ================================= =============================== ================================
weasyprint 71    weasyprint.document.Page          _page_box                       `printer`: tags of cells
weasyprint 71    weasyprint.document.Page          links                           `printer`: one link, not two
weasyprint 71    weasyprint.pdf.tags               mark                            `printer`: headers of cells
weasyprint 71    weasyprint.pdf.tags               ParentTree                      `printer`: running heads
weasyprint 71    weasyprint.pdf.metadata           generate_rdf_metadata           `printer`: PDF/UA-1
weasyprint 71    weasyprint.pdf.anchors            /Filespec                       `printer`: media types
jinja2     3.2   jinja2.compiler.CodeGenerator     visit_ScopedEvalContextModifier `environment`: escaping
========== ===== ================================= =============================== ================================
"""
