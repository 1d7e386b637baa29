//! The fields of the index: words (indexed, with frequencies, not stored), and per row its id and its length.

use tantivy::index::IndexSettings;
use tantivy::schema::{FAST, Field, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions};
use tantivy::store::Compressor;

use crate::Analyzer;

pub(crate) const TEXT: &str = "text";
pub(crate) const ROW_ID: &str = "row_id";
/// Words of the row, exact: tantivy's own field norm is rounded to 8 bits.
pub(crate) const ROW_WORDS: &str = "row_words";

#[derive(Clone, Copy)]
pub(crate) struct Fields {
    pub text: Field,
    pub row_id: Field,
    pub row_words: Field,
}

impl Fields {
    pub fn of(schema: &Schema) -> tantivy::Result<Self> {
        Ok(Self {
            text: schema.get_field(TEXT)?,
            row_id: schema.get_field(ROW_ID)?,
            row_words: schema.get_field(ROW_WORDS)?,
        })
    }
}

/// The analyzer's name and version are part of the schema: that is how a folder remembers them.
pub(crate) fn schema(analyzer: &Analyzer) -> Schema {
    let mut schema = Schema::builder();
    let words = TextFieldIndexing::default()
        .set_tokenizer(&analyzer.stored_name())
        .set_index_option(IndexRecordOption::WithFreqs)
        .set_fieldnorms(true);
    schema.add_text_field(TEXT, TextOptions::default().set_indexing_options(words));
    schema.add_u64_field(ROW_ID, NumericOptions::from(FAST));
    schema.add_u64_field(ROW_WORDS, NumericOptions::from(FAST));
    schema.build()
}

/// The analyzer that a schema was made for.
pub(crate) fn stored_analyzer(schema: &Schema) -> Option<String> {
    let entry = schema.get_field_entry(schema.get_field(TEXT).ok()?);
    match entry.field_type() {
        tantivy::schema::FieldType::Str(options) => Some(options.get_indexing_options()?.tokenizer().to_string()),
        _ => None,
    }
}

/// Nothing is stored, so nothing is compressed, and no thread is started to do it.
pub(crate) fn settings() -> IndexSettings {
    IndexSettings {
        docstore_compression: Compressor::None,
        docstore_compress_dedicated_thread: false,
        ..IndexSettings::default()
    }
}
