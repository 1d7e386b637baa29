//! PDF files, whole, damaged and hostile, written here object by object.

use std::io::Write;
use std::path::Path;

use nuthatch_extract::{Document, ExtractError, PassageOptions, extract};
use pdf_extract::{
    Dictionary, Document as Pdf, EncryptionState, EncryptionVersion, Object, ObjectId, Permissions, Stream, dictionary,
};

fn read(pdf: &mut Pdf) -> Result<Document, ExtractError> {
    let mut bytes = Vec::new();
    pdf.save_to(&mut bytes).unwrap();
    extract(Path::new("test.pdf"), &bytes, &PassageOptions::default())
}

fn broken(pdf: &mut Pdf) -> String {
    match read(pdf) {
        Err(ExtractError::Broken { what, .. }) => what,
        other => panic!("not broken: {other:?}"),
    }
}

/// A file with one page for each of `contents`, all with `drawings` as their external objects.
fn pdf(contents: &[&str], drawings: impl FnOnce(&mut Pdf) -> Dictionary) -> Pdf {
    let mut pdf = Pdf::with_version("1.5");
    let drawings = drawings(&mut pdf);
    let font = pdf.add_object(dictionary! { "Type" => "Font", "Subtype" => "Type1", "BaseFont" => "Helvetica" });
    let resources = dictionary! { "Font" => dictionary! { "F1" => font }, "XObject" => drawings };
    let pages = pdf.new_object_id();
    let kids: Vec<Object> = contents
        .iter()
        .map(|content| {
            let content = pdf.add_object(Stream::new(Dictionary::new(), content.as_bytes().to_vec()));
            let page = dictionary! {
                "Type" => "Page", "Parent" => pages, "Contents" => content, "Resources" => resources.clone(),
                "MediaBox" => vec![0.into(), 0.into(), 600.into(), 800.into()]
            };
            pdf.add_object(page).into()
        })
        .collect();
    let count = kids.len() as i64;
    pdf.objects.insert(pages, dictionary! { "Type" => "Pages", "Kids" => kids, "Count" => count }.into());
    let catalog = pdf.add_object(dictionary! { "Type" => "Catalog", "Pages" => pages });
    let info = pdf.add_object(dictionary! { "Title" => Object::string_literal("A   title") });
    pdf.trailer.set("Root", catalog);
    pdf.trailer.set("Info", info);
    pdf.trailer.set("ID", vec![Object::string_literal("one"), Object::string_literal("two")]);
    pdf
}

fn plain(contents: &[&str]) -> Pdf {
    pdf(contents, |_| Dictionary::new())
}

const HELLO: &str = "BT /F1 12 Tf 50 700 Td (Hello page) Tj ET";
const OTHER: &str = "BT /F1 12 Tf 50 700 Td (First line) Tj 0 -14 Td (second line) Tj ET";

fn form(pdf: &mut Pdf, content: &str, drawings: Dictionary) -> ObjectId {
    let resources = dictionary! { "XObject" => drawings };
    pdf.add_object(Stream::new(
        dictionary! { "Subtype" => "Form", "Resources" => resources },
        content.as_bytes().to_vec(),
    ))
}

#[test]
fn passages_know_page_and_line() {
    let document = read(&mut plain(&[HELLO, OTHER])).unwrap();
    assert_eq!(document.title.as_deref(), Some("A title"));
    let found: Vec<_> = document.passages.iter().map(|p| (p.page, p.text.as_str())).collect();
    assert_eq!(found, [(Some(1), "Hello page"), (Some(2), "First line\nsecond line")]);
    let second = &document.passages[1];
    assert_eq!(second.end_line, second.start_line + 1);
    assert_eq!(second.end_byte - second.start_byte, second.text.len() as u64);
}

#[test]
fn a_page_that_fails_is_a_warning_and_the_others_are_read() {
    let document = read(&mut plain(&[HELLO, "BT /NoSuchFont 12 Tf (x) Tj ET", OTHER])).unwrap();
    assert_eq!(document.passages.iter().map(|p| p.page).collect::<Vec<_>>(), [Some(1), Some(3)]);
    assert_eq!(document.warnings.len(), 1);
    assert!(document.warnings[0].starts_with("page 2 is left out: "), "{:?}", document.warnings);
}

#[test]
fn an_encrypted_file_says_so() {
    let mut pdf = plain(&[HELLO]);
    let version = EncryptionVersion::V2 {
        document: &pdf,
        owner_password: "owner",
        user_password: "user",
        key_length: 40,
        permissions: Permissions::all(),
    };
    let state = EncryptionState::try_from(version).unwrap();
    pdf.encrypt(&state).unwrap();
    let what = broken(&mut pdf);
    assert!(what.contains("encrypted"), "{what}");
}

#[test]
fn an_image_is_not_read_as_instructions() {
    let mut pdf = pdf(&[&format!("/Im Do {HELLO}")], |pdf| {
        let image =
            Stream::new(dictionary! { "Subtype" => "Image", "Width" => 9 }, b"BT (not text) Tj ET ((((".to_vec());
        dictionary! { "Im" => pdf.add_object(image) }
    });
    let document = read(&mut pdf).unwrap();
    assert_eq!(document.passages.len(), 1, "{document:?}");
    assert_eq!(document.passages[0].text, "Hello page");
}

#[test]
fn a_drawing_that_draws_itself_is_refused() {
    let mut pdf = pdf(&["/A Do"], |pdf| {
        let id = pdf.new_object_id();
        let stream =
            dictionary! { "Subtype" => "Form", "Resources" => dictionary! { "XObject" => dictionary! { "A" => id } } };
        pdf.objects.insert(id, Stream::new(stream, b"/A Do".to_vec()).into());
        dictionary! { "A" => id }
    });
    let what = broken(&mut pdf);
    assert!(what.contains("draws itself"), "{what}");
}

#[test]
fn a_drawing_cannot_reach_itself_through_the_page() {
    let mut pdf = pdf(&["/A Do"], |pdf| {
        dictionary! { "A" => pdf.add_object(Stream::new(dictionary! { "Subtype" => "Form" }, b"/A Do".to_vec())) }
    });
    assert!(!broken(&mut pdf).is_empty());
}

#[test]
fn drawings_that_multiply_are_refused() {
    let mut pdf = pdf(&["/A Do"], |pdf| {
        let mut inner = form(pdf, HELLO, Dictionary::new());
        for _ in 0..12 {
            inner = form(pdf, &"/A Do ".repeat(50), dictionary! { "A" => inner });
        }
        dictionary! { "A" => inner }
    });
    let what = broken(&mut pdf);
    assert!(what.contains("bytes of instructions"), "{what}");
}

#[test]
fn pages_below_themselves_are_refused() {
    let mut pdf = plain(&[HELLO]);
    let page = *pdf.get_pages().get(&1).unwrap();
    let pages = pdf.get_dictionary(page).unwrap().get(b"Parent").unwrap().as_reference().unwrap();
    pdf.get_object_mut(pages).unwrap().as_dict_mut().unwrap().set("Parent", page);
    let what = broken(&mut pdf);
    assert!(what.contains("groups of pages"), "{what}");
}

#[test]
fn a_file_that_unpacks_to_gigabytes_is_refused() {
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    let zeros = vec![b' '; 1 << 20];
    for _ in 0..600 {
        packed.write_all(&zeros).unwrap();
    }
    let packed = packed.finish().unwrap();
    let mut pdf = plain(&[HELLO]);
    pdf.add_object(Stream::new(dictionary! { "Filter" => "FlateDecode" }, packed.clone()));
    assert!(broken(&mut pdf).contains("unpacks to more than"));

    let mut again = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    again.write_all(&packed).unwrap();
    let twice = dictionary! { "Filter" => vec![Object::from("FlateDecode"), Object::from("FlateDecode")] };
    let mut pdf = plain(&[HELLO]);
    pdf.add_object(Stream::new(twice, again.finish().unwrap()));
    assert!(broken(&mut pdf).contains("unpacks to more than"));
}
