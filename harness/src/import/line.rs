//! Lines as perf printed them, freed from what mailers add.

use super::Malformed;

/// One line of the text.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// From 1.
    pub number: u32,
    /// Without quotation marks, and with plain spaces only.
    pub text: String,
    /// How often it was quoted.
    pub quoted: usize,
}

/// Splits the text into lines.
///
/// # Errors
/// Bytes that are no UTF-8, and control characters, with their line.
pub(super) fn lines(bytes: &[u8]) -> Result<Vec<Line>, Malformed> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = before.iter().filter(|&&byte| byte == b'\n').count();
        Malformed::new(line as u32 + 1, "this is no UTF-8 text")
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.lines().zip(1..).map(|(text, number)| Line::new(number, text)).collect()
}

impl Line {
    fn new(number: u32, text: &str) -> Result<Self, Malformed> {
        if let Some(odd) = text.chars().find(|&c| c.is_control() && !"\t\r\u{c}".contains(c)) {
            let what = format!("there is a control character, U+{:04X}", u32::from(odd));
            return Err(Malformed::new(number, what));
        }
        let (mut rest, mut quoted) = (text, 0);
        while let Some(inner) = rest.trim_start_matches([' ', '\u{a0}']).strip_prefix('>') {
            (rest, quoted) = (inner, quoted + 1);
        }
        let plain = |c: char| if c.is_whitespace() { ' ' } else { c };
        let text: String = rest.chars().map(plain).collect();
        Ok(Self { number, text: text.trim().to_owned(), quoted })
    }

    pub fn is_blank(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether it is drawn: `----`, `+---+---+`, `|---|`.
    pub fn is_ruler(&self) -> bool {
        self.text.chars().filter(|c| "-=_".contains(*c)).count() >= 3
            && self.text.chars().all(|c| "-=_+|: ".contains(c))
    }

    /// Whether it stands for rows that were cut: `....`.
    pub fn is_cut_mark(&self) -> bool {
        let dots = self.text.replace('\u{2026}', "...");
        let dots = dots.trim_matches(|c| "[]()| ".contains(c));
        dots.len() >= 2 && dots.chars().all(|c| c == '.')
    }

    /// Its words; bars and brackets separate, `+-` is a word, and a `%` belongs to its number.
    pub fn words(&self) -> Vec<String> {
        let spaced = self.text.replace(['|', '(', ')'], " ").replace("+-", " +- ");
        let mut words: Vec<String> = Vec::new();
        for word in spaced.split(' ').filter(|word| !word.is_empty()) {
            match words.last_mut() {
                Some(last) if word == "%" && last.ends_with(|c: char| c.is_ascii_digit()) => {
                    last.push('%');
                }
                _ => words.push(word.into()),
            }
        }
        words
    }

    /// The line for a message: short, and harmless to a terminal.
    pub fn shown(&self) -> String {
        shown(&self.text)
    }
}

/// A text for a message: short, and harmless to a terminal.
pub(super) fn shown(text: &str) -> String {
    let short: String = text.chars().take(60).collect();
    let more = if short.len() < text.len() { "..." } else { "" };
    format!("`{}{more}`", short.escape_debug())
}
