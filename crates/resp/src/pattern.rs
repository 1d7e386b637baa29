//! Patterns of KEYS and SCAN: `*`, `?`, `[abc]`, `[^a-z]`, and a backslash before what is meant literally.

/// Whether a text fits a pattern, in time of their product at most.
pub(crate) fn fits(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    // Where to go on when what follows the last star does not fit: after the star, with one more byte in it.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        match pattern.get(p) {
            Some(b'*') => {
                p += 1;
                retry = Some((p, t));
                continue;
            }
            None if t == text.len() => return true,
            Some(_) if t < text.len() => {
                if let Some(after) = one(&pattern[p..], text[t]) {
                    p += after;
                    t += 1;
                    continue;
                }
            }
            _ => {}
        }
        match &mut retry {
            Some((after, from)) if *from < text.len() => {
                *from += 1;
                (p, t) = (*after, *from);
            }
            _ => return false,
        }
    }
}

/// The bytes that every text that fits begins with.
pub(crate) fn prefix(pattern: &[u8]) -> Vec<u8> {
    let mut found = Vec::new();
    let mut rest = pattern.iter();
    while let Some(byte) = rest.next() {
        match byte {
            b'*' | b'?' | b'[' => break,
            b'\\' => found.push(*rest.next().unwrap_or(byte)),
            byte => found.push(*byte),
        }
    }
    found
}

/// How much of the pattern stands for this byte, if it does.
fn one(pattern: &[u8], byte: u8) -> Option<usize> {
    match pattern {
        [b'?', ..] => Some(1),
        [b'\\', escaped, ..] => (*escaped == byte).then_some(2),
        [b'[', class @ ..] => {
            let (negated, mut at) = match class.first() {
                Some(b'^') => (true, 1),
                _ => (false, 0),
            };
            let mut within = false;
            loop {
                match class.get(at..).unwrap_or_default() {
                    // Open to the end: as if it were closed there.
                    [] => break,
                    [b']', ..] => {
                        at += 1;
                        break;
                    }
                    [b'\\', escaped, ..] => {
                        within |= *escaped == byte;
                        at += 2;
                    }
                    [low, b'-', high, ..] => {
                        within |= (*low.min(high)..=*low.max(high)).contains(&byte);
                        at += 3;
                    }
                    [single, ..] => {
                        within |= *single == byte;
                        at += 1;
                    }
                }
            }
            (within != negated).then_some(1 + at)
        }
        [literal, ..] => (*literal == byte).then_some(1),
        [] => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_what_they_say() {
        let fits = |pattern: &str, text: &str| fits(pattern.as_bytes(), text.as_bytes());
        for (pattern, text) in [
            ("*", ""),
            ("a*c", "abbc"),
            ("h?llo", "hello"),
            ("h[ae]llo", "hallo"),
            ("h[^e]llo", "hallo"),
            ("h[a-b]llo", "hbllo"),
            ("h[b-a]llo", "hallo"),
            ("\\*", "*"),
            ("*ab*ab", "xabyabab"),
            ("[\\]]", "]"),
        ] {
            assert!(fits(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in
            [("", "a"), ("h[^e]llo", "hello"), ("a?", "a"), ("\\*", "a"), ("[a-c]", "d"), ("*a", "b"), ("a[", "a")]
        {
            assert!(!fits(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn many_stars_take_no_exponential_time() {
        let text = vec![b'a'; 5000];
        assert!(!fits(&[b"*a".repeat(50), b"b".to_vec()].concat(), &text));
    }

    #[test]
    fn a_prefix_is_what_stands_before_the_first_wildcard() {
        assert_eq!(prefix(b"user:\\*1*"), b"user:*1");
        assert_eq!(prefix(b"*"), b"");
    }
}
