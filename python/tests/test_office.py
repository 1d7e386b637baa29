"""Office documents are added like other files: their text is found, and says where it stands."""

import zipfile
from pathlib import Path

import nuthatch

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
BODY = f"""<?xml version="1.0"?><w:document xmlns:w="{WORD}"><w:body>
<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Winter stores</w:t></w:r></w:p>
<w:p><w:r><w:t>A nuthatch hides </w:t></w:r><w:r><w:t>acorns under bark.</w:t></w:r></w:p>
</w:body></w:document>"""

STYLES = f"""<?xml version="1.0"?><w:styles xmlns:w="{WORD}">
<w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/></w:style></w:styles>"""

RELATIONS = """<?xml version="1.0"?><Relationships><Relationship Id="r1" Target="styles.xml"
 Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles"/>
</Relationships>"""


def word(path: Path, body: str = BODY) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("[Content_Types].xml", "<Types/>")
        package.writestr("word/_rels/document.xml.rels", RELATIONS)
        package.writestr("word/styles.xml", STYLES)
        package.writestr("word/document.xml", body)


def test_a_word_document_is_found_by_its_words_and_tells_its_heading(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    word(tmp_path / "notes" / "stores.docx")
    with nuthatch.connect(tmp_path / "data") as db:
        notes = db.collection("notes", embedder="none")
        report = db.add(tmp_path / "notes", collection=notes)
        assert (report.files_added, report.skipped) == (1, [])
        (hit,) = notes.search("acorns", limit=1)
        assert hit.text is not None and "hides acorns under bark" in hit.text
        assert (hit.payload["kind"], hit.payload["heading"]) == ("document", "Winter stores")


def test_documents_that_cannot_be_read_are_named_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    word(tmp_path / "notes" / "bomb.docx", BODY.replace("acorns", " " * (64 << 20)))
    (tmp_path / "notes" / "old.doc").write_bytes(
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "WordDocument".encode("utf-16-le")
    )
    with nuthatch.connect(tmp_path / "data") as db:
        report = db.add(tmp_path / "notes", collection=db.collection("notes", embedder="none"))
    reasons = {skipped.path.name: skipped.why for skipped in report.skipped}
    assert "unpacks to more than 200 times its size" in reasons["bomb.docx"]
    assert "a .doc document" in reasons["old.doc"]
