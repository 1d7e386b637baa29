//! Expressions, by precedence: `or`; `and`; comparisons and `in`; `+ -`; `* / %`; `**`, from the right; `not`.

use std::iter::Peekable;
use std::vec::IntoIter;

use crate::failure::{Failure, Outcome};
use crate::vectors::filter::tokens::{Token, tokens, wrong};
use crate::vectors::filter::{Node, Operator};

/// Longest expression, and most words of one: an expression is as deep as it has words, at most.
const BYTES_MAX: usize = 64 << 10;
const WORDS_MAX: usize = 2048;
/// Parentheses and negations within each other.
const NESTING_MAX: usize = 64;

pub(super) fn parse(text: &[u8]) -> Outcome<Node> {
    let text = std::str::from_utf8(text).map_err(|_| Failure::error("a FILTER expression must be UTF-8"))?;
    if text.len() > BYTES_MAX {
        return Err(Failure::error(format!(
            "the FILTER expression has {} bytes; the limit is {BYTES_MAX}",
            text.len()
        )));
    }
    let tokens = tokens(text)?;
    if tokens.len() > WORDS_MAX {
        return Err(Failure::error(format!(
            "the FILTER expression has {} words; the limit is {WORDS_MAX}",
            tokens.len()
        )));
    }
    let mut parser = Parser { tokens: tokens.into_iter().peekable(), nesting: 0 };
    let root = parser.binary(0)?;
    match parser.tokens.next() {
        None => Ok(root),
        Some(_) => Err(wrong(text)),
    }
}

struct Parser {
    tokens: Peekable<IntoIter<Token>>,
    nesting: usize,
}

impl Parser {
    /// An expression of operators that bind at least so tightly.
    fn binary(&mut self, tightness_min: u8) -> Outcome<Node> {
        let mut left = self.unary()?;
        while let Some(Token::Operator(operator)) = self.tokens.peek() {
            let operator = *operator;
            let tightness = tightness(operator);
            if tightness < tightness_min {
                break;
            }
            self.tokens.next();
            // From the right, a power takes another power as its exponent.
            let right = self.nested(|parser| parser.binary(tightness + u8::from(operator != Operator::Power)))?;
            left = Node::Binary(operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Outcome<Node> {
        match self.tokens.next() {
            Some(Token::Not) => Ok(Node::Not(Box::new(self.nested(Self::unary)?))),
            Some(Token::Open) => {
                let inner = self.nested(|parser| parser.binary(0))?;
                match self.tokens.next() {
                    Some(Token::Close) => Ok(inner),
                    _ => Err(wrong("(")),
                }
            }
            Some(Token::ListOpen) => self.list(),
            Some(Token::Number(number)) => Ok(Node::Number(number)),
            Some(Token::Text(text)) => Ok(Node::Text(text)),
            Some(Token::Field(name)) => Ok(Node::Field(name)),
            Some(Token::Null) => Ok(Node::Null),
            _ => Err(Failure::error("syntax error in FILTER expression: a value is missing")),
        }
    }

    /// Numbers and texts.
    fn list(&mut self) -> Outcome<Node> {
        let mut items = Vec::new();
        if self.tokens.next_if_eq(&Token::ListClose).is_some() {
            return Ok(Node::List(items));
        }
        loop {
            items.push(match self.tokens.next() {
                Some(Token::Number(number)) => Node::Number(number),
                Some(Token::Text(text)) => Node::Text(text),
                _ => return Err(wrong("[")),
            });
            match self.tokens.next() {
                Some(Token::Comma) => {}
                Some(Token::ListClose) => return Ok(Node::List(items)),
                _ => return Err(wrong("[")),
            }
        }
    }

    fn nested(&mut self, parse: impl FnOnce(&mut Self) -> Outcome<Node>) -> Outcome<Node> {
        self.nesting += 1;
        if self.nesting > NESTING_MAX {
            return Err(Failure::error(format!("the FILTER expression nests more than {NESTING_MAX} deep")));
        }
        let node = parse(self);
        self.nesting -= 1;
        node
    }
}

fn tightness(operator: Operator) -> u8 {
    match operator {
        Operator::Or => 1,
        Operator::And => 2,
        Operator::Equal
        | Operator::Differs
        | Operator::Less
        | Operator::LessEqual
        | Operator::Greater
        | Operator::GreaterEqual
        | Operator::In => 3,
        Operator::Plus | Operator::Minus => 4,
        Operator::Times | Operator::Over | Operator::Modulo => 5,
        Operator::Power => 6,
    }
}
