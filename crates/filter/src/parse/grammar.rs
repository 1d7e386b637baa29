//! Tokens to tree, by recursive descent: one method a rule of the grammar in the module's head.

use std::borrow::Cow;

use super::NESTING_MAX;
use super::lexer::{Spanned, Token};
use crate::{CompareOp, Filter, SyntaxError, Value, parse_datetime};

/// Words that cannot be a bare field name; in double quotes they can.
const RESERVED: [&str; 10] = ["and", "or", "not", "in", "is", "null", "true", "false", "between", "like"];

type Parsed<T> = Result<T, SyntaxError>;

pub(super) struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Spanned<'a>>,
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    /// `tokens` ends with [`Token::End`].
    pub fn new(text: &'a str, tokens: Vec<Spanned<'a>>) -> Self {
        Self { text, tokens, at: 0, depth: 0 }
    }

    pub fn filter(mut self) -> Parsed<Filter> {
        if matches!(self.peek(), Token::End) {
            return self.fail("the filter is empty; leave it out, or write a condition such as year >= 2024");
        }
        let filter = self.disjunction()?;
        match self.peek() {
            Token::End => Ok(filter),
            Token::Symbol(")") => self.fail("this `)` has no matching `(`"),
            _ => self.expected("AND, OR or the end"),
        }
    }

    fn disjunction(&mut self) -> Parsed<Filter> {
        let mut parts = vec![self.conjunction()?];
        while self.keyword("or") {
            parts.push(self.conjunction()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Filter::Or(parts) })
    }

    fn conjunction(&mut self) -> Parsed<Filter> {
        let mut parts = vec![self.negation()?];
        while self.keyword("and") {
            parts.push(self.negation()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Filter::And(parts) })
    }

    /// A loop, since a chain of NOTs would otherwise nest as deep as it is long.
    fn negation(&mut self) -> Parsed<Filter> {
        let mut negated = false;
        while self.keyword("not") {
            negated = !negated;
        }
        let filter = self.primary()?;
        Ok(not_if(negated, filter))
    }

    fn primary(&mut self) -> Parsed<Filter> {
        if self.symbol("(") {
            return self.parenthesised();
        }
        if let Some(function) = self.function_name() {
            return self.function(function);
        }
        match self.literal()? {
            Some(literal) => self.after_literal(literal),
            None => {
                let field = self.field("a condition: a field, NOT or `(`")?;
                self.test(field)
            }
        }
    }

    fn parenthesised(&mut self) -> Parsed<Filter> {
        self.depth += 1;
        if self.depth > NESTING_MAX {
            self.at -= 1;
            return self.fail(format!("parentheses nest at most {NESTING_MAX} deep"));
        }
        let inner = self.disjunction()?;
        self.depth -= 1;
        self.close("AND, OR or `)`")?;
        Ok(inner)
    }

    /// `exists`, `contains` and `starts_with` are functions only before a parenthesis, and field names elsewhere.
    fn function_name(&mut self) -> Option<&'static str> {
        let Token::Word(word) = self.peek() else { return None };
        let names = ["exists", "starts_with", "contains"];
        let name = names.into_iter().find(|name| word.eq_ignore_ascii_case(name))?;
        (self.tokens.get(self.at + 1)?.token == Token::Symbol("(")).then(|| {
            self.at += 2;
            name
        })
    }

    fn function(&mut self, name: &str) -> Parsed<Filter> {
        let field = self.field("a field")?;
        if name == "exists" {
            self.close("`)`")?;
            return Ok(Filter::Exists { field });
        }
        if !self.symbol(",") {
            return self.expected("`,`");
        }
        let filter = match name {
            "contains" => Filter::Contains { field, value: self.value()? },
            _ => Filter::Prefix { field, prefix: self.text_literal()? },
        };
        self.close("`)`")?;
        Ok(filter)
    }

    /// `2024 <= year`, `'x' IN tags`, or a lone TRUE or FALSE.
    fn after_literal(&mut self, value: Value) -> Parsed<Filter> {
        if let Some(op) = self.operator() {
            let field = self.field("a field: a comparison has a field on one side and a value on the other")?;
            return Ok(Filter::Compare { field, op: op.swapped(), value });
        }
        let negated = self.keyword("not");
        if self.keyword("in") {
            let field = self.field("a field")?;
            return Ok(not_if(negated, Filter::Contains { field, value }));
        }
        match value {
            Value::Bool(value) if !negated => Ok(not_if(!value, Filter::True)),
            _ => self.expected("a comparison (=, !=, <, <=, >, >=) or IN"),
        }
    }

    fn test(&mut self, field: String) -> Parsed<Filter> {
        if let Some(op) = self.operator() {
            if self.is_keyword("null") {
                return self.fail("nothing equals null; write IS NULL or IS NOT NULL");
            }
            return Ok(Filter::Compare { field, op, value: self.value()? });
        }
        if self.keyword("is") {
            let negated = self.keyword("not");
            return if self.keyword("null") {
                Ok(not_if(!negated, Filter::Exists { field }))
            } else {
                self.expected(if negated { "NULL" } else { "NULL or NOT NULL" })
            };
        }
        let negated = self.keyword("not");
        let filter = if self.keyword("in") {
            Filter::In { field, values: self.list()? }
        } else if self.keyword("between") {
            let low = self.value()?;
            if !self.keyword("and") {
                return self.expected("AND: field BETWEEN low AND high");
            }
            Filter::Between { field, low, high: self.value()? }
        } else if self.keyword("like") {
            let pattern = self.text_literal()?;
            Filter::Like { field, pattern, escape: self.escape()? }
        } else if self.keyword("contains") {
            Filter::Contains { field, value: self.value()? }
        } else if negated {
            return self.expected("IN, BETWEEN, LIKE or CONTAINS");
        } else {
            return self.bare(field);
        };
        Ok(not_if(negated, filter))
    }

    /// `active` says `active = true`; what follows must be able to follow a whole condition.
    fn bare(&mut self, field: String) -> Parsed<Filter> {
        let ends =
            matches!(self.peek(), Token::End | Token::Symbol(")")) || self.is_keyword("and") || self.is_keyword("or");
        if !ends {
            return match self.peek() {
                Token::Word(word) if word.eq_ignore_ascii_case("ilike") => {
                    self.fail("ILIKE is not part of the language; LIKE is case sensitive")
                }
                Token::Symbol("(") => self.fail(
                    "no such function; there are EXISTS(field), STARTS_WITH(field, 'x') and CONTAINS(field, value)",
                ),
                _ => self.expected("a comparison (=, !=, <, <=, >, >=), IN, BETWEEN, LIKE, CONTAINS or IS NULL"),
            };
        }
        Ok(Filter::Compare { field, op: CompareOp::Eq, value: Value::Bool(true) })
    }

    fn list(&mut self) -> Parsed<Vec<Value>> {
        if !self.symbol("(") {
            return self.expected("`(` and a list of values");
        }
        let mut values = vec![self.value()?];
        while self.symbol(",") {
            values.push(self.value()?);
        }
        self.close("`,` or `)`")?;
        Ok(values)
    }

    fn escape(&mut self) -> Parsed<Option<char>> {
        if !self.keyword("escape") {
            return Ok(None);
        }
        let at = self.at;
        let text = self.text_literal()?;
        let mut chars = text.chars();
        match (chars.next(), chars.next()) {
            (Some(escape), None) if escape != '%' && escape != '_' => Ok(Some(escape)),
            _ => {
                self.at = at;
                self.fail("an escape is one character other than % and _")
            }
        }
    }

    fn operator(&mut self) -> Option<CompareOp> {
        let Token::Symbol(symbol) = self.peek() else { return None };
        let op = match *symbol {
            "=" | "==" => CompareOp::Eq,
            "!=" | "<>" => CompareOp::Ne,
            "<" => CompareOp::Lt,
            "<=" => CompareOp::Le,
            ">" => CompareOp::Gt,
            ">=" => CompareOp::Ge,
            _ => return None,
        };
        self.at += 1;
        Some(op)
    }

    fn value(&mut self) -> Parsed<Value> {
        if let Some(value) = self.literal()? {
            return Ok(value);
        }
        match self.peek() {
            Token::Word(word) if word.eq_ignore_ascii_case("null") => {
                self.fail("null cannot be compared; write IS NULL")
            }
            Token::Word(word) if !is_reserved(word) => {
                let word = word.to_string();
                self.fail(format!("expected a value, found the name `{word}`; text takes single quotes: '{word}'"))
            }
            Token::Quoted(name) => {
                let name = name.to_string();
                self.fail(format!("expected a value, found the name \"{name}\"; text takes single quotes: '{name}'"))
            }
            _ => self.expected("a value: 'text', a number, TRUE, FALSE or TIMESTAMP '…'"),
        }
    }

    /// A value if one begins here.
    fn literal(&mut self) -> Parsed<Option<Value>> {
        let start = self.at;
        let value = match self.peek().clone() {
            Token::Text(text) => Value::Text(text.into_owned()),
            Token::Number(digits) => return self.number(digits, "").map(Some),
            Token::Symbol(sign @ ("-" | "+")) => {
                self.at += 1;
                let Token::Number(digits) = self.peek().clone() else {
                    return self.expected("a number");
                };
                return self.number(digits, if sign == "-" { "-" } else { "" }).map(Some);
            }
            Token::Word(word) if word.eq_ignore_ascii_case("true") => Value::Bool(true),
            Token::Word(word) if word.eq_ignore_ascii_case("false") => Value::Bool(false),
            Token::Word(word)
                if ["timestamp", "datetime", "date"].iter().any(|name| word.eq_ignore_ascii_case(name)) =>
            {
                // The same words are common field names; only a text after them makes a datetime.
                let Some(Token::Text(text)) = self.tokens.get(start + 1).map(|spanned| spanned.token.clone()) else {
                    return Ok(None);
                };
                self.at += 1;
                match parse_datetime(&text) {
                    Some(micros) => Value::Datetime(micros),
                    None => return self.fail(
                        "this is not a datetime; write '2025-01-31', '2025-01-31 12:30:00' or '2025-01-31T12:30:00+02:00'",
                    ),
                }
            }
            _ => return Ok(None),
        };
        self.at += 1;
        Ok(Some(value))
    }

    fn number(&mut self, digits: &str, sign: &str) -> Parsed<Value> {
        let written = format!("{sign}{digits}");
        let value = if digits.contains(['.', 'e', 'E']) {
            written.parse().ok().filter(|value: &f64| value.is_finite()).map(Value::Float)
        } else {
            written.parse().ok().map(Value::Int)
        };
        match value {
            Some(value) => {
                self.at += 1;
                Ok(value)
            }
            None => self
                .fail("this number is too large; integers go from -2^63 to 2^63-1, floats (written 1e30) to 1.8e308"),
        }
    }

    fn text_literal(&mut self) -> Parsed<String> {
        match self.peek() {
            Token::Text(text) => {
                let text = text.clone().into_owned();
                self.at += 1;
                Ok(text)
            }
            _ => self.expected("a text in single quotes"),
        }
    }

    fn field(&mut self, what: &str) -> Parsed<String> {
        let mut path = self.name(what)?.into_owned();
        while self.symbol(".") {
            path.push('.');
            path.push_str(&self.name("a name after the dot")?);
        }
        Ok(path)
    }

    fn name(&mut self, what: &str) -> Parsed<Cow<'a, str>> {
        let name = match self.peek() {
            Token::Word(word) if is_reserved(word) => {
                let message = format!("expected {what}, found `{word}`; a field of that name takes double quotes");
                return self.fail(message);
            }
            Token::Word(word) => Cow::Borrowed(*word),
            // A dot in quotes is one of a path, too: no field's name has one.
            Token::Quoted(name) if name.split('.').any(str::is_empty) => {
                return self.fail("a field's name cannot be empty");
            }
            Token::Quoted(name) => name.clone(),
            _ => return self.expected(what),
        };
        self.at += 1;
        Ok(name)
    }

    fn close(&mut self, expected: &str) -> Parsed<()> {
        if self.symbol(")") { Ok(()) } else { self.expected(expected) }
    }

    /// The last token is the end and is never stepped over.
    fn peek(&self) -> &Token<'a> {
        &self.tokens[self.at].token
    }

    fn symbol(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Token::Symbol(found) if *found == symbol);
        self.at += usize::from(found);
        found
    }

    fn is_keyword(&self, keyword: &str) -> bool {
        matches!(self.peek(), Token::Word(word) if word.eq_ignore_ascii_case(keyword))
    }

    fn keyword(&mut self, keyword: &str) -> bool {
        let found = self.is_keyword(keyword);
        self.at += usize::from(found);
        found
    }

    fn expected<T>(&self, what: &str) -> Parsed<T> {
        self.fail(format!("expected {what}, found {}", self.peek()))
    }

    fn fail<T>(&self, message: impl Into<String>) -> Parsed<T> {
        Err(SyntaxError::new(message, self.text, self.tokens[self.at].start))
    }
}

pub(crate) fn is_reserved(word: &str) -> bool {
    RESERVED.iter().any(|reserved| word.eq_ignore_ascii_case(reserved))
}

fn not_if(negated: bool, filter: Filter) -> Filter {
    if negated { Filter::Not(Box::new(filter)) } else { filter }
}
