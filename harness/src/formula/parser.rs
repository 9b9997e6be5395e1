//! Reads formulas: a recursive-descent parser over the text.

use super::{Expression, Formula, FormulaError, Node, Test};

/// Deep enough for any formula that a person writes, shallow enough for any stack.
const MAX_DEPTH: usize = 64;

pub(super) fn formula(text: &str) -> Result<Formula, FormulaError> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    let test = parser.test()?;
    if let Some(other) = parser.peek() {
        return Err(parser.error(format!("unexpected `{other}`")));
    }
    Ok(Formula { text: text.to_owned(), test })
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn test(&mut self) -> Result<Test, FormulaError> {
        if self.take("==") {
            return Ok(Test::Equal(self.expression()?));
        }
        if self.take("<=") {
            return Ok(Test::AtMost(self.expression()?));
        }
        if self.take(">=") {
            return Ok(Test::AtLeast(self.expression()?));
        }
        let first = self.expression()?;
        Ok(if self.take("..") {
            Test::Within(first, self.expression()?)
        } else {
            Test::Equal(first)
        })
    }

    fn expression(&mut self) -> Result<Expression, FormulaError> {
        self.binary(&['+', '-'], Self::term)
    }

    fn term(&mut self) -> Result<Expression, FormulaError> {
        self.binary(&['*', '/', '%'], Self::factor)
    }

    fn binary(
        &mut self,
        operators: &[char],
        side: fn(&mut Self) -> Result<Expression, FormulaError>,
    ) -> Result<Expression, FormulaError> {
        let mut left = side(self)?;
        while let Some(operator) = self.peek().filter(|c| operators.contains(c)) {
            let column = self.column();
            self.at += operator.len_utf8();
            let right = side(self)?;
            left = Expression { column, node: Node::Binary(operator, Box::new((left, right))) };
        }
        Ok(left)
    }

    fn factor(&mut self) -> Result<Expression, FormulaError> {
        let Some(next) = self.peek() else {
            return Err(self.error("a number, a parameter or `(` is missing".into()));
        };
        let column = self.column();
        if self.take("(") {
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return Err(self.error(format!("more than {MAX_DEPTH} nested parentheses")));
            }
            let inside = self.expression()?;
            if !self.take(")") {
                return Err(self.error("`)` is missing".into()));
            }
            self.depth -= 1;
            return Ok(inside);
        }
        if !next.is_ascii_alphanumeric() && next != '_' {
            return Err(self.error(format!("unexpected `{next}`")));
        }
        let word = self.word();
        let node = if next.is_ascii_digit() {
            let digits = word.replace('_', "");
            let number = match digits.strip_prefix("0x") {
                Some(hex) => u64::from_str_radix(hex, 16),
                None => digits.parse(),
            };
            Node::Number(number.map_err(|_| FormulaError {
                text: self.text.into(),
                column,
                message: format!("`{word}` is no unsigned 64-bit number"),
            })?)
        } else {
            Node::Name(word)
        };
        Ok(Expression { column, node })
    }

    /// A number or a name. `.` and `:` belong to a name when a word follows: `a.io.0x70:POUT`, but
    /// `1..n`.
    fn word(&mut self) -> String {
        let rest = &self.text[self.at..];
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let is_name = rest.starts_with(|c: char| c.is_ascii_alphabetic());
        let goes_on = |at: usize| rest[at + 1..].starts_with(is_word);
        let end = rest
            .char_indices()
            .find(|&(at, c)| !is_word(c) && !(is_name && (c == '.' || c == ':') && goes_on(at)));
        let word = &rest[..end.map_or(rest.len(), |(at, _)| at)];
        self.at += word.len();
        word.to_owned()
    }

    fn take(&mut self, token: &str) -> bool {
        self.peek();
        let found = self.text[self.at..].starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    /// The next character that is no blank.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    fn column(&self) -> usize {
        self.text[..self.at].chars().count() + 1
    }

    fn error(&self, message: String) -> FormulaError {
        FormulaError { text: self.text.into(), column: self.column(), message }
    }
}
