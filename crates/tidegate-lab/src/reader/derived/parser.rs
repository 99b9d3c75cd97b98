//! From a text to an expression.
use super::super::quantity::{UnitValue, decimal};
use super::{Expression, ExpressionFault, LENGTH_LIMIT, Sign, Term, is_of_the_path, is_word};

/// How deep parentheses and signs may stand in one another.
const DEPTH_LIMIT: u32 = 16;

impl Expression {
    /// Reads `text`.
    ///
    /// # Errors
    /// It is no expression, or too long or too deep for one.
    pub fn parse(text: &str) -> Result<Expression, ExpressionFault> {
        if text.len() > LENGTH_LIMIT {
            let why = format!("an expression has at most {LENGTH_LIMIT} bytes");
            return Err(ExpressionFault { at: 0..text.len(), why });
        }
        let mut parser = Parser { text, next: 0, depth: 0 };
        let expression = parser.sum()?;
        match parser.peek() {
            None => Ok(expression),
            Some(')') => Err(parser.fault("this parenthesis closes none")),
            Some(_) => Err(parser
                .fault("an operator with spaces around it is missing before this: + - × or /")),
        }
    }
}

/// What is left of a text.
struct Parser<'t> {
    text: &'t str,
    next: usize,
    depth: u32,
}

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.next..]
    }

    /// The next character that is no space.
    fn peek(&mut self) -> Option<char> {
        self.next += self.rest().len() - self.rest().trim_start().len();
        self.rest().chars().next()
    }

    /// Takes one of these signs.
    fn sign(&mut self, signs: &[(char, Sign)]) -> Option<Sign> {
        let next = self.peek()?;
        let &(_, sign) = signs.iter().find(|(c, _)| *c == next)?;
        self.next += next.len_utf8();
        Some(sign)
    }

    /// A fault at the next character or word.
    fn fault(&mut self, why: impl Into<String>) -> ExpressionFault {
        let first = self.peek().map_or(0, char::len_utf8);
        let word = self.rest().find(|c| !is_word(c)).unwrap_or(self.rest().len());
        ExpressionFault { at: self.next..self.next + word.max(first), why: why.into() }
    }

    fn two(left: Expression, sign: Sign, right: Expression) -> Expression {
        let at = left.at.start..right.at.end;
        Expression { at, term: Term::Two(Box::new(left), sign, Box::new(right)) }
    }

    fn sum(&mut self) -> Result<Expression, ExpressionFault> {
        let signs = [('+', Sign::Plus), ('-', Sign::Minus), ('−', Sign::Minus)];
        let mut left = self.product()?;
        while let Some(sign) = self.sign(&signs) {
            left = Parser::two(left, sign, self.product()?);
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Expression, ExpressionFault> {
        let signs = [('×', Sign::Times), ('*', Sign::Times), ('/', Sign::Over), ('÷', Sign::Over)];
        let mut left = self.factor()?;
        while let Some(sign) = self.sign(&signs) {
            left = Parser::two(left, sign, self.factor()?);
        }
        Ok(left)
    }

    fn factor(&mut self) -> Result<Expression, ExpressionFault> {
        self.depth += 1;
        if self.depth > DEPTH_LIMIT {
            return Err(self.fault(format!("nested more than {DEPTH_LIMIT} deep")));
        }
        let next = self.peek();
        let start = self.next;
        let factor = match next {
            Some('-' | '−') => {
                self.next += next.map_or(0, char::len_utf8);
                let inner = self.factor()?;
                let at = start..inner.at.end;
                Expression { at, term: Term::Negative(Box::new(inner)) }
            }
            Some('(') => self.group()?,
            Some(c) if c.is_ascii_digit() || c == '.' => self.number()?,
            Some(c) if c.is_alphabetic() => self.name()?,
            Some(_) => return Err(self.fault("a value is missing before this")),
            None => return Err(self.fault("ends where a value is missing")),
        };
        self.depth -= 1;
        Ok(factor)
    }

    fn group(&mut self) -> Result<Expression, ExpressionFault> {
        let start = self.next;
        self.next += 1;
        let inner = self.sum()?;
        if self.peek() != Some(')') {
            let why = "this parenthesis is not closed";
            return Err(ExpressionFault { at: start..start + 1, why: why.into() });
        }
        self.next += 1;
        let at = start..self.next;
        self.unit(Expression { at, term: Term::Group(Box::new(inner)) })
    }

    fn number(&mut self) -> Result<Expression, ExpressionFault> {
        let (start, rest) = (self.next, self.rest());
        let digits = |text: &str| {
            text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '_'))
                .unwrap_or(text.len())
        };
        let mut len = digits(rest);
        if let Some(power) = rest[len..].strip_prefix(['e', 'E']) {
            let signed = power.len() - power.trim_start_matches(['+', '-']).len();
            if power[signed..].starts_with(|c: char| c.is_ascii_digit()) && signed <= 1 {
                len += 1 + signed + digits(&power[signed..]);
            }
        }
        self.next += len;
        let at = start..self.next;
        let Some(value) = decimal(&rest[..len]) else {
            return Err(ExpressionFault {
                at,
                why: "this is no number, or too large to be meant".into(),
            });
        };
        self.unit(Expression { at, term: Term::Quantity(UnitValue::number(value)) })
    }

    /// `number` with the unit after it, if there is one.
    fn unit(&mut self, number: Expression) -> Result<Expression, ExpressionFault> {
        let next = self.peek();
        if !next.is_some_and(|c| c.is_alphabetic() || c == '%') {
            return Ok(number);
        }
        let rest = self.rest();
        let mut len = rest.find(|c: char| !c.is_alphabetic() && c != '%').unwrap_or(rest.len());
        // A bare `s` is no value, so that `/s` can only belong to the unit.
        let after = rest[len..].strip_prefix("/s");
        if after.is_some_and(|after| !after.starts_with(|c| is_word(c) && c != '-')) {
            len += 2;
        }
        let (word, start) = (&rest[..len], self.next);
        self.next += len;
        let unit = match UnitValue::unit(word) {
            Some(unit) => Term::Quantity(unit),
            None if is_of_the_path(word) => Term::Name(word.to_lowercase()),
            None => {
                return Err(ExpressionFault { at: start..self.next, why: no_unit(&number, word) });
            }
        };
        let at = number.at.clone();
        if let (Term::Quantity(number), Term::Quantity(unit)) = (&number.term, &unit) {
            let term = Term::Quantity(number.times(unit));
            return Ok(Expression { at: at.start..self.next, term });
        }
        let unit = Expression { at: start..self.next, term: unit };
        Ok(Parser::two(number, Sign::Times, unit))
    }

    fn name(&mut self) -> Result<Expression, ExpressionFault> {
        let rest = self.rest();
        let len = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let word = &rest[..len];
        if is_of_the_path(word) {
            let at = self.next..self.next + len;
            self.next += len;
            return Ok(Expression { at, term: Term::Name(word.to_lowercase()) });
        }
        if !word.contains('.') {
            let why = format!(
                "`{word}` is no value; write a number with its unit, a key's path such as \
                 network.rate, bdp or rtt"
            );
            return Err(self.fault(why));
        }
        let at = self.next..self.next + len;
        self.next += len;
        Ok(Expression { at, term: Term::Name(word.into()) })
    }
}

/// Why `word` is no unit of `number`.
fn no_unit(number: &Expression, word: &str) -> String {
    let number = match &number.term {
        Term::Quantity(quantity) => quantity.value.to_string(),
        _ => "1".into(),
    };
    let text = format!("{number} {word}");
    let refusals = [
        text.parse::<tidegate::Rate>().err(),
        text.parse::<tidegate::Span>().err(),
        text.parse::<tidegate::Bytes>().err(),
    ];
    let guess = |why: &String| why.contains("did you mean") || why.contains("ambiguous");
    refusals.into_iter().flatten().map(|error| error.why).find(guess).unwrap_or_else(|| {
        format!("`{word}` is no unit; use ms, s, B, kB, kbit/s, Mbit/s, packets, bdp or rtt")
    })
}
