//! Character classes: `[a-z]`, `[!0-9]`, `[[:alpha:]_]`.
//!
//! Pure.

/// A set of characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CharacterClass {
    negated: bool,
    members: Vec<ClassMember>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClassMember {
    Range(char, char),
    Posix(PosixClass),
}

/// The named classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PosixClass {
    Alnum,
    Alpha,
    Ascii,
    Blank,
    Cntrl,
    Digit,
    Graph,
    Lower,
    Print,
    Punct,
    Space,
    Upper,
    Word,
    Xdigit,
}

const NAMES: [(&str, PosixClass); 14] = [
    ("[:alnum:]", PosixClass::Alnum),
    ("[:alpha:]", PosixClass::Alpha),
    ("[:ascii:]", PosixClass::Ascii),
    ("[:blank:]", PosixClass::Blank),
    ("[:cntrl:]", PosixClass::Cntrl),
    ("[:digit:]", PosixClass::Digit),
    ("[:graph:]", PosixClass::Graph),
    ("[:lower:]", PosixClass::Lower),
    ("[:print:]", PosixClass::Print),
    ("[:punct:]", PosixClass::Punct),
    ("[:space:]", PosixClass::Space),
    ("[:upper:]", PosixClass::Upper),
    ("[:word:]", PosixClass::Word),
    ("[:xdigit:]", PosixClass::Xdigit),
];

/// What stands at a `[`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ParsedClass {
    /// A class, and how many bytes it takes.
    Class(CharacterClass, usize),
    /// A class that no character is in: nothing matches the whole segment.
    Impossible,
    /// A `[` that is never closed and stands for itself.
    Literal,
}

/// Reads the class at the start of `text`, which begins with `[`.
pub(crate) fn parse(text: &str) -> ParsedClass {
    let mut reader = ClassReader { rest: text.get(1..).unwrap_or_default(), range_from: None, members: Vec::new() };
    let negated = reader.rest.starts_with(['!', '^']);
    if negated {
        reader.advance(1);
    }
    match reader.read() {
        ClassEnd::Open => ParsedClass::Literal,
        ClassEnd::Impossible => ParsedClass::Impossible,
        ClassEnd::Closed if reader.members.is_empty() => ParsedClass::Impossible,
        ClassEnd::Closed => {
            ParsedClass::Class(CharacterClass { negated, members: reader.members }, text.len() - reader.rest.len())
        }
    }
}

enum ClassEnd {
    Closed,
    Open,
    Impossible,
}

struct ClassReader<'t> {
    rest: &'t str,
    range_from: Option<char>,
    members: Vec<ClassMember>,
}

impl ClassReader<'_> {
    fn advance(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    fn read(&mut self) -> ClassEnd {
        let mut started = false;
        let mut escaped = false;
        while let Some(character) = self.rest.chars().next() {
            match character {
                ']' if started && !escaped => {
                    self.advance(1);
                    return ClassEnd::Closed;
                }
                '\\' if !escaped => {
                    started = true;
                    escaped = true;
                    self.advance(1);
                    continue;
                }
                '[' if !escaped => {
                    started = true;
                    if let Some((name, posix)) = NAMES.iter().find(|(name, _)| self.rest.starts_with(name)) {
                        if self.range_from.is_some() {
                            return ClassEnd::Impossible;
                        }
                        self.members.push(ClassMember::Posix(*posix));
                        self.advance(name.len());
                        continue;
                    }
                }
                _ => {}
            }
            started = true;
            escaped = false;
            self.member(character);
        }
        ClassEnd::Open
    }

    /// A character, the start of a range or the end of one.
    fn member(&mut self, character: char) {
        self.advance(character.len_utf8());
        if let Some(from) = self.range_from.take() {
            if from <= character {
                self.members.push(ClassMember::Range(from, character));
            }
        } else if self.rest.starts_with("-]") {
            self.members.push(ClassMember::Range(character, character));
            self.members.push(ClassMember::Range('-', '-'));
            self.advance(1);
        } else if self.rest.starts_with('-') {
            self.range_from = Some(character);
            self.advance(1);
        } else {
            self.members.push(ClassMember::Range(character, character));
        }
    }
}

impl CharacterClass {
    pub(crate) fn contains(&self, character: char) -> bool {
        let inside = |wanted: fn(&ClassMember) -> bool| {
            self.members.iter().filter(|member| wanted(member)).any(|member| member.contains(character))
        };
        // The two names that say what is left out are joined to a negated rest as "either", as minimatch does.
        let plain = |member: &ClassMember| !member.is_exclusion();
        let has = |wanted: fn(&ClassMember) -> bool| self.members.iter().any(wanted);
        match (has(plain), has(ClassMember::is_exclusion)) {
            (true, true) => (inside(plain) != self.negated) || (self.excluded(character) == self.negated),
            (false, true) => self.excluded(character) == self.negated,
            _ => inside(plain) != self.negated,
        }
    }

    /// Whether one of the names that say what is left out leaves this character out.
    fn excluded(&self, character: char) -> bool {
        self.members.iter().filter(|member| member.is_exclusion()).any(|member| !member.contains(character))
    }

    /// The one character of a class such as `[*]`, which is how a special character is spelled out.
    pub(crate) fn single(&self) -> Option<char> {
        match (self.negated, self.members.as_slice()) {
            (false, [ClassMember::Range(from, to)]) if from == to => Some(*from),
            _ => None,
        }
    }
}

impl ClassMember {
    fn is_exclusion(&self) -> bool {
        matches!(self, Self::Posix(PosixClass::Graph | PosixClass::Print))
    }

    fn contains(&self, character: char) -> bool {
        match self {
            Self::Range(from, to) => (*from..=*to).contains(&character),
            Self::Posix(posix) => posix.contains(character),
        }
    }
}

impl PosixClass {
    /// Exact for ASCII; beyond it, Unicode as the standard library knows it.
    fn contains(self, character: char) -> bool {
        let separator = character.is_whitespace() && !character.is_control();
        match self {
            Self::Alnum => character.is_alphabetic() || is_decimal(character),
            Self::Alpha => character.is_alphabetic(),
            Self::Ascii => character.is_ascii(),
            Self::Blank => character == '\t' || (separator && !matches!(character, '\u{2028}' | '\u{2029}')),
            Self::Cntrl => character.is_control(),
            Self::Digit => is_decimal(character),
            Self::Graph => !separator && !character.is_control(),
            Self::Lower => character.is_lowercase(),
            Self::Print => !character.is_control(),
            Self::Punct if character.is_ascii() => character.is_ascii_punctuation(),
            Self::Punct => !(character.is_alphanumeric() || character.is_whitespace() || character.is_control()),
            Self::Space => separator || matches!(character, '\t' | '\n' | '\r' | '\u{b}' | '\u{c}'),
            Self::Upper => character.is_uppercase(),
            Self::Word => character.is_alphabetic() || is_decimal(character) || is_connector(character),
            Self::Xdigit => character.is_ascii_hexdigit(),
        }
    }
}

/// Decimal digits come in runs of ten; these are the runs of the Basic Multilingual Plane.
const DECIMAL_ZEROS: [u32; 37] = [
    0x0030, 0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6, 0x0D66, 0x0DE6,
    0x0E50, 0x0ED0, 0x0F20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50, 0x1BB0, 0x1C40,
    0x1C50, 0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10,
];

fn is_decimal(character: char) -> bool {
    let code = u32::from(character);
    let index = DECIMAL_ZEROS.partition_point(|zero| *zero <= code);
    index.checked_sub(1).and_then(|index| DECIMAL_ZEROS.get(index)).is_some_and(|zero| code - zero < 10)
}

fn is_connector(character: char) -> bool {
    matches!(
        character,
        '_' | '\u{203F}' | '\u{2040}' | '\u{2054}' | '\u{FE33}' | '\u{FE34}' | '\u{FE4D}'..='\u{FE4F}' | '\u{FF3F}'
    )
}
