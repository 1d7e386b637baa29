//! Which words of two prompts are the same.

use crate::tokens::Token;

/// Content tokens without a partner that is the same, or another form of the same word.
pub(crate) fn unmatched<'t>(these: &'t [Token], those: &[Token]) -> Vec<&'t Token> {
    let mut free: Vec<&Token> = those.iter().collect();
    let mut left = Vec::new();
    for token in these {
        match free.iter().position(|other| is_same(token, other)) {
            Some(at) => drop(free.swap_remove(at)),
            None => left.push(token),
        }
    }
    left
}

/// Equal, or two forms of one word: they differ in up to three letters at their ends.
pub(crate) fn is_same(a: &Token, b: &Token) -> bool {
    let (Token::Word(a), Token::Word(b)) = (a, b) else { return a == b };
    if a == b {
        return true;
    }
    let shared = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let longest = a.chars().count().max(b.chars().count());
    shared >= 4 && longest - shared <= 3
}

/// The length of the longest common subsequence.
pub(crate) fn in_order(a: &[Token], b: &[Token]) -> usize {
    let mut row = vec![0usize; b.len() + 1];
    for token in a {
        let mut diagonal = 0;
        for (at, other) in b.iter().enumerate() {
            let above = row[at + 1];
            row[at + 1] = if is_same(token, other) { diagonal + 1 } else { above.max(row[at]) };
            diagonal = above;
        }
    }
    row[b.len()]
}
