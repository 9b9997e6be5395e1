//! Scenarios: payload, parameters, machine, silicon and policy, with what they must give.

use super::error::{SuiteError, suggest};
use super::expect::{Expect, Reader};
use super::fields::{Entry, Fields};
use super::machine;
use super::matrix::Bindings;
use super::settings::{Settings, settle};
use super::words::{POLICIES, SEEDS};
use crate::payload::{Catalogue, Kind, Payload};
use trapline_abi::machine::{HyperV, Machine};
use trapline_abi::plan::{MAX_VCPUS, Module, Policy, Seed};

/// After how much a scenario is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Guest time in TSC ticks.
    pub ticks: u64,
    /// Traps.
    pub exits: u64,
}

impl Default for Budget {
    /// Some twenty times what the longest scenario needs; a runaway is then still over within
    /// seconds of wall time.
    fn default() -> Self {
        Self { ticks: 200_000_000, exits: 200_000 }
    }
}

/// A scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// The suite's name.
    pub suite: String,
    /// The scenario's name in it.
    pub name: String,
    /// What it shows.
    pub about: String,
    /// The payload.
    pub payload: String,
    /// Its parameters.
    pub params: Settings,
    /// The machine.
    pub machine: Machine,
    /// The silicon profile.
    pub silicon: String,
    /// The policy.
    pub policy: Policy,
    /// Its module's parameters.
    pub module: Module,
    /// A fault put in on purpose.
    pub seed: Option<Seed>,
    /// Whether every trap is told: only ever for `trapline trace`.
    pub trace: bool,
    /// vCPUs.
    pub vcpus: u16,
    /// Cores that they share.
    pub cores: u16,
    /// After how much it is ended.
    pub budget: Budget,
    /// Where its expectations are from.
    pub cite: String,
    /// What it must give.
    pub expect: Expect,
    /// A negative control: it passes only if it fails for a reason that contains this text.
    pub fails: Option<String>,
}

impl Scenario {
    /// `suite::name`.
    pub fn full_name(&self) -> String {
        format!("{}::{}", self.suite, self.name)
    }
}

const KEYS: &[&str] = &[
    "name", "about", "payload", "matrix", "params", "machine", "silicon", "policy", "module",
    "seed", "vcpus", "cores", "budget", "cite", "expect", "when", "fails",
];

/// Reads one combination of a `[[scenario]]` entry.
pub(super) fn read(
    suite: &str,
    catalogue: &Catalogue,
    entry: Entry<'_>,
    combination: &Bindings,
) -> Result<Scenario, SuiteError> {
    let fields = fields(Entry { bindings: combination, ..entry })?;
    let payload_entry = fields.need("payload")?;
    let payload_name = payload_entry.text()?;
    let payload = catalogue.get(&payload_name).ok_or_else(|| {
        let hint = suggest(&payload_name, catalogue.iter().map(|p| p.name.as_str()));
        payload_entry.error(format!("unknown payload `{payload_name}`{hint}"))
    })?;
    let params = settle(payload, fields.get("params"), fields.get("matrix"), combination)?;

    // From here on every parameter can stand in a placeholder, not only those of the matrix.
    let bindings = params.bindings().with_axes(combination);
    let fields = self::fields(Entry { bindings: &bindings, ..entry })?;
    let matrix = fields.get("matrix");
    let axis = |key| Axis { own: fields.get(key), matrix, text: combination.0.get(key) };
    let vcpus = axis("vcpus").or(1, |e, text| {
        text.parse()
            .ok()
            .filter(|n| (1..=MAX_VCPUS).contains(n))
            .ok_or_else(|| e.error(format!("the number of vCPUs is from 1 to {MAX_VCPUS}")))
    })?;
    let cores = fields.or("cores", vcpus, |e| {
        u16::try_from(e.number()?).ok().filter(|n| (1..=vcpus).contains(n)).ok_or_else(|| {
            e.error(format!("the number of cores is from 1 to that of vCPUs, {vcpus}"))
        })
    })?;
    let policy = axis("policy").or(Policy::Kvm612, policy)?;
    if let Some((name, why)) = without_avic(policy) {
        refuse_avic(&fields, name, why)?;
    }
    Ok(Scenario {
        suite: suite.into(),
        name: fields.need("name").and_then(name)?,
        about: fields.or("about", String::new(), |e| e.text())?,
        machine: fields.or("machine", Machine::PLAIN, machine::read)?,
        silicon: axis("silicon").or("none".into(), silicon)?,
        policy,
        module: fields.or("module", Module::DEFAULT, module)?,
        seed: fields.or("seed", None, |e| word(e, "seed", SEEDS).map(Some))?,
        budget: fields.or("budget", Budget::default(), budget)?,
        cite: fields.or("cite", String::new(), |e| e.text())?,
        expect: expect(&fields, payload, &params, &bindings, vcpus, cores)?,
        fails: fields.or("fails", None, |e| e.text().map(Some))?,
        payload: payload_name,
        trace: false,
        params,
        vcpus,
        cores,
    })
}

pub(super) fn fields(entry: Entry<'_>) -> Result<Fields<'_>, SuiteError> {
    entry.fields("a scenario", KEYS)
}

/// A name that can be a file's name and part of a test's name.
pub(super) fn name(entry: Entry<'_>) -> Result<String, SuiteError> {
    let name = entry.text()?;
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
    if name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(fits) {
        return Ok(name);
    }
    Err(entry.error(format!("the name `{name}` must be of a-z, 0-9, `-`, `_` and `.`")))
}

/// A key that may stand in the scenario or in its matrix.
#[derive(Clone, Copy)]
struct Axis<'a> {
    own: Option<Entry<'a>>,
    matrix: Option<Entry<'a>>,
    text: Option<&'a String>,
}

impl<'a> Axis<'a> {
    /// Its value, read from its text; errors point at the key or at the matrix.
    fn or<T>(
        self,
        default: T,
        read: impl FnOnce(Entry<'a>, &str) -> Result<T, SuiteError>,
    ) -> Result<T, SuiteError> {
        match (self.own, self.matrix.zip(self.text)) {
            (Some(own), Some(_)) => Err(own.error("this key is already in the matrix")),
            (Some(own), None) => read(own, &own.text_or_number()?),
            (None, Some((matrix, text))) => read(matrix, text),
            (None, None) => Ok(default),
        }
    }
}

fn silicon(entry: Entry<'_>, text: &str) -> Result<String, SuiteError> {
    crate::silicon::is_possible(text).map_err(|why| entry.error(why))?;
    Ok(text.into())
}

fn policy(entry: Entry<'_>, text: &str) -> Result<Policy, SuiteError> {
    choose(entry, "policy", POLICIES, text)
}

/// A policy that has no use for AVIC: its word, and why.
fn without_avic(policy: Policy) -> Option<(&'static str, &'static str)> {
    (policy == Policy::Xen417).then_some(("xen-4.17", "Xen 4.17 has no AVIC"))
}

/// What only means something with AVIC is a mistake without.
fn refuse_avic(fields: &Fields<'_>, policy: &str, why: &str) -> Result<(), SuiteError> {
    if let Some(entry) = fields.get("module") {
        return Err(entry.error(format!(
            "policy `{policy}` has no parameters of a module: {why}; take `module` out"
        )));
    }
    if let Some(entry) = fields.get("machine")
        && machine::read(entry)?.hyperv.contains(HyperV::AVIC)
    {
        return Err(entry.error(format!(
            "policy `{policy}` cannot recommend `hv-avic`: {why}; take the switch out"
        )));
    }
    Ok(())
}

fn module(entry: Entry<'_>) -> Result<Module, SuiteError> {
    let fields = entry.fields("a module", &["avic", "enable-ipiv", "force-avic"])?;
    let flag = |key, default| fields.or(key, default, |e| e.flag());
    Ok(Module {
        avic: flag("avic", Module::DEFAULT.avic)?,
        enable_ipiv: flag("enable-ipiv", Module::DEFAULT.enable_ipiv)?,
        force_avic: flag("force-avic", Module::DEFAULT.force_avic)?,
    })
}

fn budget(entry: Entry<'_>) -> Result<Budget, SuiteError> {
    let fields = entry.fields("a budget", &["ticks", "exits"])?;
    let default = Budget::default();
    Ok(Budget {
        ticks: fields.or("ticks", default.ticks, |e| e.number())?,
        exits: fields.or("exits", default.exits, |e| e.number())?,
    })
}

fn word<T: Copy>(entry: Entry<'_>, what: &str, words: &[(&str, T)]) -> Result<T, SuiteError> {
    choose(entry, what, words, &entry.text()?)
}

fn choose<T: Copy>(
    entry: Entry<'_>,
    what: &str,
    words: &[(&str, T)],
    word: &str,
) -> Result<T, SuiteError> {
    words.iter().find(|(w, _)| *w == word).map(|&(_, value)| value).ok_or_else(|| {
        let hint = suggest(word, words.iter().map(|&(w, _)| w));
        entry.error(format!("unknown {what} `{word}`{hint}"))
    })
}

fn expect(
    fields: &Fields<'_>,
    payload: &Payload,
    settings: &Settings,
    bindings: &Bindings,
    vcpus: u16,
    cores: u16,
) -> Result<Expect, SuiteError> {
    let mut reader = Reader { settings, vcpus, cores, cite: None, expect: Expect::default() };
    if let Some(table) = fields.get("expect") {
        reader.add(table)?;
    }
    for entry in fields.or("when", Vec::new(), |e| e.list())? {
        let when = entry.fields("a condition", &["is", "expect", "cite"])?;
        if applies(when.need("is")?, payload, bindings)? {
            reader.cite = when.or("cite", None, |e| e.text().map(Some))?;
            reader.add(when.need("expect")?)?;
        }
    }
    Ok(reader.expect)
}

/// Whether every parameter, or axis of the matrix, has the value, or one of the values, that `is` names.
fn applies(is: Entry<'_>, payload: &Payload, bindings: &Bindings) -> Result<bool, SuiteError> {
    let mut applies = true;
    for (span, name, entry) in is.entries()? {
        let Some(value) = bindings.0.get(name) else {
            let hint = suggest(name, bindings.0.keys().map(String::as_str));
            return Err(entry.source.error(span, format!("unknown parameter `{name}`{hint}")));
        };
        let items = if entry.value.get_ref().is_array() { entry.list()? } else { vec![entry] };
        let mut one = false;
        for item in items {
            let text = item.text_or_number()?;
            // A misspelt word would never apply, and silently take its expectations with it.
            if let Some(Kind::Choice(words, _)) = payload.kind(name)
                && !words.contains(&text)
            {
                let hint = suggest(&text, words.iter().map(String::as_str));
                return Err(item.error(format!("`{name}` cannot be `{text}`{hint}")));
            }
            if name == "silicon" {
                silicon(item, &text)?;
            } else if name == "policy" {
                policy(item, &text)?;
            }
            one |= text == *value;
        }
        applies &= one;
    }
    Ok(applies)
}
