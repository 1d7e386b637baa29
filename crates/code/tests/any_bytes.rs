//! No bytes cause a panic, whatever language they are said to be in.

use nuthatch_code::{Candidate, Facts, Language, Names, Place, facts_of, resolve};
use proptest::prelude::*;

const WORDS: &[&str] = &[
    "fn ",
    "def ",
    "class ",
    "impl ",
    "function ",
    "func ",
    "struct ",
    "x",
    "self",
    "this",
    ".",
    "::",
    "(",
    ")",
    "{",
    "}",
    "<",
    ">",
    ",",
    ";",
    ":",
    "=",
    "=>",
    "import ",
    "from ",
    "use ",
    "#include ",
    "#define ",
    "\n",
    "    ",
    "\"",
    "'",
    "é",
    "*",
    "&",
    "async ",
    "let ",
    "const ",
    "return ",
    "new ",
    "super",
    "namespace ",
    "template ",
    "@",
    "!",
    "macro_rules! ",
];

fn check(language: Language, bytes: &[u8]) {
    let facts = facts_of(language, bytes);
    assert_eq!(facts_of(language, bytes), facts, "the same bytes give the same facts");
    assert_eq!(Facts::decode(&facts.encode()).as_ref(), Some(&facts));
    let names = Names::of(&facts);
    assert_eq!(Names::decode(&names.encode(facts.reading)), Some((names.clone(), facts.reading)));
    let stored = names.encode(facts.reading);
    let mut candidates = Vec::new();
    for (index, definition) in facts.definitions.iter().enumerate() {
        let hash = nuthatch_code::hash_of(&definition.name);
        assert!(names.may_define(hash) && nuthatch_code::look(&stored, &[hash]).unwrap().defines);
        assert!(definition.start <= definition.end && definition.end as usize <= bytes.len());
        assert!(definition.parent.is_none_or(|parent| (parent as usize) < index), "what is around comes first");
        let head = definition.head_range();
        definition.signature(&bytes[head.start as usize..head.end as usize]);
        let (path, qualified) = ("a/b.x".into(), facts.qualified_name(index));
        candidates.push(Candidate {
            path,
            language,
            index: index as u32,
            qualified,
            definition: definition.clone(),
            symbol: None,
        });
    }
    for reference in facts.references.iter().take(50) {
        let hash = nuthatch_code::hash_of(&reference.name);
        assert!(names.may_use(hash) && nuthatch_code::look(&stored, &[0, hash, u32::MAX / 2]).unwrap().uses);
        let meaning = resolve(Place { path: "a/b.x", facts: &facts }, reference, &candidates);
        assert!(meaning.targets.iter().all(|at| *at < candidates.len()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn bytes(number in 0_u8..9, bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        check(Language::of_number(number).unwrap(), &bytes);
    }

    #[test]
    fn words(number in 0_u8..9, words in prop::collection::vec(prop::sample::select(WORDS), 0..80)) {
        check(Language::of_number(number).unwrap(), words.concat().as_bytes());
    }

    #[test]
    fn facts_of_other_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        Facts::decode(&[&[nuthatch_code::FACTS_VERSION, 0, 0][..], &bytes].concat());
        Names::decode(&bytes);
        nuthatch_code::look(&bytes, &[1, 2, 3]);
    }
}
