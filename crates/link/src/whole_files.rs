//! Files that a condition matches whole: they are removed as files, so that adding them again reads them again.

use std::collections::BTreeMap;

use nuthatch_engine::Result;
use nuthatch_engine::collection::Scan;
use nuthatch_engine::files::FileInfo;
use nuthatch_filter::Value;

use crate::Collection;

/// Records of one page while evaluating a condition.
const PAGE: usize = 1000;

impl Collection {
    /// Files all of whose passages pass the condition, by path. Reads every record that passes, a page at a time.
    ///
    /// # Errors
    /// `Invalid` for a condition that is none, or names an unknown field.
    pub fn whole_files(&self, condition: &str) -> Result<Vec<FileInfo>> {
        let mut passages: BTreeMap<String, usize> = BTreeMap::new();
        let mut scan = Scan { limit: PAGE, filter: Some(nuthatch_filter::parse(condition)?), ..Scan::default() };
        loop {
            let page = self.scan(&scan)?;
            for record in &page.records {
                if let Some(Value::Text(path)) = record.payload.get("path") {
                    *passages.entry(path.clone()).or_default() += 1;
                }
            }
            match page.cursor {
                Some(cursor) => scan.cursor = Some(cursor),
                None => break,
            }
        }
        let mut whole = Vec::new();
        for (path, passing) in passages {
            whole.extend(self.files(&path)?.into_iter().filter(|file| file.path == path && file.passages == passing));
        }
        Ok(whole)
    }
}
