//! Configuration files, and the sizes and times in them.

use nuthatch_server::Config;
use nuthatch_server::config::{Layers, SETTINGS, parse_bytes, parse_duration};

use crate::Run;

pub fn start() -> Run {
    let folder = tempfile::tempdir().expect("a folder");
    Box::new(move |bytes| {
        if let Ok(text) = std::str::from_utf8(bytes) {
            if let Ok(size) = parse_bytes(text) {
                assert_eq!(parse_bytes(&size.to_string()), Ok(size));
            }
            if let Ok(time) = parse_duration(text) {
                assert!(!time.is_zero(), "{text:?}");
            }
            if let Some(time) = parse_duration(text).ok().filter(|time| time.as_millis() > 0) {
                assert_eq!(
                    parse_duration(&format!("{}ms", time.as_millis())).map(|t| t.as_millis()),
                    Ok(time.as_millis())
                );
            }
        }
        let path = folder.path().join("nuthatch.toml");
        std::fs::write(&path, bytes).expect("written");
        let Ok(layers) = Layers::default().file(&path) else { return };
        let said = Config::said(&layers);
        // A name would be asked of the network.
        let is_address = |text: &str| text.is_empty() || text.parse::<std::net::SocketAddr>().is_ok();
        if !said.iter().all(|said| !matches!(said.setting, "listen" | "redis") || is_address(&said.text)) {
            return;
        }
        let Ok(config) = Config::resolve(&layers) else { return };
        let flags = said.into_iter().fold(Layers::default(), |layers, said| {
            let key = SETTINGS.iter().find(|setting| setting.key == said.setting).expect("a setting").key;
            layers.flag(key, said.text)
        });
        let again = Config::resolve(&flags).expect("what was understood in the file is understood as flags");
        assert_eq!(format!("{config:?}"), format!("{again:?}"));
    })
}
