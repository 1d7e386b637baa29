//! The files of the console. `make console` writes this list.

use super::File;

pub(super) const INDEX: File = File {
    name: "index.html",
    media_type: "text/html; charset=utf-8",
    gzip: include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/console/index.html.gz")),
};

/// Under which licences the packages are that the pages are made of.
pub(super) const LICENCES: File = File {
    name: "licences.txt",
    media_type: "text/plain; charset=utf-8",
    gzip: include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/console/licences.txt.gz")),
};

pub(super) const ASSETS: &[File] = &[
    File {
        name: "console-DQO2pbON.js",
        media_type: "text/javascript; charset=utf-8",
        gzip: include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/console/console.js.gz")),
    },
    File {
        name: "icon-C0HWLw9S.svg",
        media_type: "image/svg+xml",
        gzip: include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/console/icon.svg.gz")),
    },
    File {
        name: "style-CK39oyT2.css",
        media_type: "text/css; charset=utf-8",
        gzip: include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/console/style.css.gz")),
    },
];
