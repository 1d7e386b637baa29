//! The `where` language, and the datetimes in it.

use nuthatch_filter::{FilterError, format_datetime, parse, parse_datetime};

use crate::Run;

pub fn start() -> Run {
    Box::new(|bytes| {
        let Ok(text) = std::str::from_utf8(bytes) else { return };
        if let Some(micros) = parse_datetime(text) {
            let written = format_datetime(micros).expect("what can be read can be written");
            assert_eq!(parse_datetime(&written), Some(micros), "{written}");
        }
        match parse(text) {
            Ok(filter) => {
                let written = filter.to_string();
                let again = parse(&written).unwrap_or_else(|error| panic!("{written:?} of {text:?}: {error}"));
                assert_eq!(again, filter, "{written}");
            }
            Err(FilterError::Syntax(error)) => {
                assert!(error.offset <= text.chars().count() && error.line >= 1 && error.column >= 1, "{error:?}");
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    })
}
