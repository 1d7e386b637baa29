//! Mails and mailboxes: a few headers, the text, and what is attached, read like the file that it is.

mod guard;

use std::borrow::Cow;
use std::path::Path;

use mail_parser::{HeaderName, Message, MessageParser, MessagePart, MimeHeaders, PartType};

use crate::detect::begins_with_headers;
use crate::part::{Gap, Part, Place};
use crate::passages::heading_name;
use crate::read::Read;
use crate::split::Style;
use crate::{Document, ExtractError, html};

pub(crate) use guard::Work;

/// Mails in mails in mails.
const DEPTH_MAX: usize = 3;

/// Text of all attachments: packed ones may grow, and there may be many.
const ATTACHED_BYTES_MAX: usize = 64 << 20;

/// How what is attached is read: name, content, what it is in.
pub(crate) type Extract<'a> = &'a (dyn Fn(&Path, &[u8], Within<'_>) -> Result<Document, ExtractError> + Sync);

/// The context that contains a file, itself a file whose attachments are all read.
#[derive(Clone, Copy)]
pub(crate) struct Within<'a> {
    /// Mails that hold it.
    depth: usize,
    work: &'a Work,
}

impl<'a> Within<'a> {
    /// A file by itself.
    pub(crate) fn nothing(work: &'a Work) -> Self {
        Within { depth: 0, work }
    }

    fn a_mail(self) -> Self {
        Within { depth: self.depth + 1, ..self }
    }

    fn refuse_depth(self) -> Result<(), String> {
        match self.depth < DEPTH_MAX {
            true => Ok(()),
            false => Err(format!("it is attached to a mail in {} others; save it by itself", DEPTH_MAX - 1)),
        }
    }
}

pub(crate) fn read_eml(bytes: &[u8], extract: Extract<'_>, within: Within<'_>) -> Result<Read, String> {
    within.refuse_depth()?;
    let mut reader = Reader::new(extract);
    reader.mail(bytes, None, within)?;
    Ok(reader.read)
}

pub(crate) fn read_mbox(bytes: &[u8], extract: Extract<'_>, within: Within<'_>) -> Result<Read, String> {
    within.refuse_depth()?;
    let mut reader = Reader::new(extract);
    for (number, mail) in (1_u32..).zip(mails(bytes)) {
        let place = format!("message {number}");
        match reader.mail(&unquoted(mail), Some(&place), within) {
            Ok(()) => {}
            Err(Stop::Mail(what)) => reader.read.warnings.push(format!("{place} is left out: {what}")),
            Err(Stop::File(what)) => return Err(what),
        }
    }
    // That of its first mail.
    reader.read.title = None;
    reader.read.unless_lost("message")
}

/// A mailbox cut at its lines `From `, which follow an empty line and precede headers.
fn mails(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let after_line = |at: usize| memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |end| at + end + 1);
    let mut starts = vec![0];
    starts.extend(
        memchr::memmem::find_iter(bytes, b"\nFrom ")
            .filter(|at| bytes[..*at].ends_with(b"\n") || bytes[..*at].ends_with(b"\n\r"))
            .map(|at| at + 1)
            .filter(|start| begins_with_headers(&bytes[after_line(*start)..])),
    );
    let ends: Vec<usize> = starts[1..].iter().copied().chain([bytes.len()]).collect();
    starts.into_iter().zip(ends).map(move |(start, end)| &bytes[after_line(start).min(end)..end])
}

/// Mailboxes write `>From ` for a line that begins with `From `, and one sign more for a line that began with those.
fn unquoted(mail: &[u8]) -> Cow<'_, [u8]> {
    let is_quoted = |line: &[u8]| {
        let signs = line.iter().take_while(|byte| **byte == b'>').count();
        signs > 0 && line[signs..].starts_with(b"From ")
    };
    if !mail.split(|byte| *byte == b'\n').any(is_quoted) {
        return Cow::Borrowed(mail);
    }
    let lines = mail.split_inclusive(|byte| *byte == b'\n');
    Cow::Owned(lines.flat_map(|line| &line[usize::from(is_quoted(line))..]).copied().collect())
}

/// Headers that are read, as they are written: what they mean is not asked, and lists of addresses would take memory.
/// The subject, sender, receiver and date stand above all passages of a mail.
const SHOWN: &[(HeaderName<'static>, &str)] = &[
    (HeaderName::Subject, "Subject"),
    (HeaderName::From, "From"),
    (HeaderName::To, "To"),
    (HeaderName::Date, "Date"),
    (HeaderName::Cc, "Cc"),
];

struct Reader<'a> {
    extract: Extract<'a>,
    parser: MessageParser,
    read: Read,
    attached_bytes: usize,
}

/// The reason to stop reading: one mail of a mailbox, or the whole file.
enum Stop {
    Mail(String),
    File(String),
}

impl From<Stop> for String {
    fn from(stop: Stop) -> String {
        match stop {
            Stop::Mail(what) | Stop::File(what) => what,
        }
    }
}

impl<'a> Reader<'a> {
    fn new(extract: Extract<'a>) -> Self {
        let parser = SHOWN
            .iter()
            .fold(MessageParser::new().with_mime_headers(), |parser, (name, _)| parser.header_text(name.clone()))
            .default_header_ignore();
        Reader { extract, parser, read: Read::default(), attached_bytes: 0 }
    }

    fn mail(&mut self, bytes: &[u8], place: Option<&str>, within: Within<'_>) -> Result<(), Stop> {
        guard::refuse_bombs(bytes, within.work).map_err(Stop::Mail)?;
        let no_headers = || Stop::Mail("it has no headers, as mails do; is it one?".to_owned());
        let mail = self.parser.parse(bytes).ok_or_else(no_headers)?;
        self.message(&mail, &[], place, within).map_err(Stop::File)
    }

    /// `above` are the headings of the mail that this one is attached to.
    fn message(
        &mut self,
        mail: &Message,
        above: &[String],
        place: Option<&str>,
        within: Within<'_>,
    ) -> Result<(), String> {
        let mut part = Part::new(Style::Prose);
        part.place = place.map_or(Place::Unnamed, |place| Place::Named(place.to_owned()));
        let shown = SHOWN.iter().filter_map(|(name, label)| Some((name, *label, header(mail, name)?)));
        let shown: Vec<(&HeaderName, &str, String)> = shown.collect();
        let heading = shown.iter().filter_map(|(name, label, value)| match name {
            HeaderName::Subject => Some(heading_name(value)),
            HeaderName::Cc => None,
            _ => Some(heading_name(&format!("{label}: {value}"))),
        });
        let heading: Vec<String> = above.iter().cloned().chain(heading).collect();
        for (level, name) in (1..).zip(&heading) {
            part.under(level, name);
        }
        for (name, label, value) in &shown {
            if **name == HeaderName::Subject {
                self.read.title = self.read.title.take().or_else(|| Some(heading_name(value)));
            }
            part.words(&format!("{label}: {value}"));
            part.gap(Gap::Line);
        }
        let body = if mail.text_body.is_empty() { &mail.html_body } else { &mail.text_body };
        for id in body {
            match mail.parts.get(*id as usize).map(|part| &part.body) {
                Some(PartType::Text(text)) => drop(part.lines(&text.replace('\r', ""))),
                Some(PartType::Html(source)) => drop(part.lines(&html::part(source).1.into_text())),
                _ => {}
            }
        }
        self.read.add(part)?;
        for id in &mail.attachments {
            // Another form of the text is no attachment.
            let shown = mail.html_body.contains(id) || mail.text_body.contains(id);
            if let (false, Some(attached)) = (shown, mail.parts.get(*id as usize)) {
                self.attachment(attached, &heading, place, within.a_mail())?;
            }
        }
        Ok(())
    }

    fn attachment(
        &mut self,
        attached: &MessagePart,
        above: &[String],
        place: Option<&str>,
        within: Within<'_>,
    ) -> Result<(), String> {
        let name = file_name(attached);
        let place = place.map_or_else(|| name.clone(), |place| format!("{place}, {name}"));
        let mut left_out = |what: &str| {
            self.read.warnings.push(format!("{place} is left out: {what}"));
            Ok(())
        };
        let bytes: &[u8] = match &attached.body {
            PartType::Message(mail) => {
                return match within.refuse_depth() {
                    Ok(()) => self.message(mail, above, Some(&place), within),
                    Err(what) => left_out(&what),
                };
            }
            PartType::Text(text) | PartType::Html(text) => text.as_bytes(),
            PartType::Binary(bytes) | PartType::InlineBinary(bytes) => bytes,
            PartType::Multipart(_) => return Ok(()),
        };
        if self.attached_bytes > ATTACHED_BYTES_MAX {
            return left_out(&format!(
                "what is attached has more than {ATTACHED_BYTES_MAX} bytes of text; save it by itself"
            ));
        }
        let document = match (self.extract)(Path::new(&name), bytes, within) {
            Ok(document) => document,
            // Pictures, which every other mail has.
            Err(ExtractError::Binary { why, .. }) if why.contains('/') && !why.starts_with("application/") => {
                return Ok(());
            }
            Err(error) => return left_out(&reason(&error)),
        };
        self.attached_bytes += document.passages.iter().map(|passage| passage.text.len()).sum::<usize>();
        self.read.warnings.extend(document.warnings.into_iter().map(|warning| format!("{place}: {warning}")));
        let mut passages = document.passages;
        for passage in &mut passages {
            let inner = passage.place.take();
            passage.place = Some(inner.map_or_else(|| place.clone(), |inner| format!("{place}, {inner}")));
            passage.heading.splice(0..0, above.iter().cloned());
        }
        self.read.add_passages(passages)
    }
}

/// Describes the problem with an attachment, without the path that it does not have.
fn reason(error: &ExtractError) -> String {
    match error {
        ExtractError::Binary { why, .. } => format!("it is binary ({why})"),
        ExtractError::Unsupported { what, .. } => format!("it cannot be read yet ({what})"),
        ExtractError::NotUtf8 { offset, .. } => format!("it is not UTF-8 at byte {offset}"),
        ExtractError::Broken { what, .. } => what.clone(),
        other => other.to_string(),
    }
}

fn header(mail: &Message, name: &HeaderName<'static>) -> Option<String> {
    let value = mail.header(name.clone())?.as_text()?;
    let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
    (!value.is_empty()).then_some(value)
}

/// Names of attachments are no longer than this, and name nothing but them: strangers choose them.
const NAME_CHARS_MAX: usize = 120;

/// A name whose end tells the format.
fn file_name(attached: &MessagePart) -> String {
    let given = attached.attachment_name().unwrap_or_default();
    let name: String =
        given.rsplit(['/', '\\']).next().unwrap_or_default().chars().filter(|c| !c.is_control()).collect();
    let name = match name.trim() {
        "" | "." | ".." => match &attached.body {
            PartType::Message(_) => "attached mail",
            PartType::Html(_) => "attachment.html",
            PartType::Text(_) => "attachment.txt",
            _ => "attachment",
        },
        name => name,
    };
    let skipped = name.chars().count().saturating_sub(NAME_CHARS_MAX);
    name.chars().skip(skipped).collect()
}
