//! Waivers held against what there is, what day it is, and what failed.

use super::{Entry, WaiverError};
use crate::judge;
use crate::model::{
    Claim, ClaimStanding, Ended, Report, Rule, RuleStanding, Subject, Waiver, WaiverState,
};
use jiff::civil::Date;
use std::collections::BTreeSet;

/// Refuses waivers whose time is over.
///
/// # Errors
/// [`WaiverError::Expired`].
pub fn in_time(entries: &[Entry], today: Date) -> Result<(), WaiverError> {
    match entries.iter().find(|entry| entry.expires < today) {
        None => Ok(()),
        Some(entry) => Err(WaiverError::Expired {
            subject: entry.subject.clone(),
            expires: entry.expires,
            owner: entry.owner.clone(),
        }),
    }
}

/// Refuses waivers of what is not there. Before anything runs: the names are all that there is.
///
/// # Errors
/// [`WaiverError::Unknown`].
pub fn known(
    entries: &[Entry],
    scenarios: &BTreeSet<String>,
    rules: &BTreeSet<String>,
    claims: &BTreeSet<String>,
) -> Result<(), WaiverError> {
    let there = |subject: &Subject| match subject {
        Subject::Scenario(name) => scenarios.contains(name),
        Subject::Rule(id) => rules.contains(id),
        Subject::Claim(id) => claims.contains(id),
    };
    match entries.iter().find(|entry| !there(&entry.subject)) {
        None => Ok(()),
        Some(entry) => Err(WaiverError::Unknown(entry.subject.clone())),
    }
}

/// Puts the waivers into a report, and its verdict after them.
///
/// # Errors
/// [`WaiverError::Unused`].
pub fn apply(entries: &[Entry], report: &mut Report) -> Result<(), WaiverError> {
    let class = report.environment.class.clone();
    let waiver = |entry: &Entry| {
        let state = match entry.environment == class {
            false => WaiverState::OtherEnvironment,
            true => match fails(&entry.subject, report) {
                None => WaiverState::NotRun,
                Some(true) => WaiverState::Applies,
                Some(false) => {
                    return Err(WaiverError::Unused(entry.subject.clone(), class.clone()));
                }
            },
        };
        Ok(Waiver {
            subject: entry.subject.clone(),
            environment: entry.environment.clone(),
            reason: entry.reason.clone(),
            owner: entry.owner.clone(),
            expires: entry.expires.to_string(),
            state,
        })
    };
    report.waivers = entries.iter().map(waiver).collect::<Result<_, _>>()?;
    report.verdict = judge::judge(report);
    Ok(())
}

/// Whether a subject failed; `None` where it did not run.
fn fails(subject: &Subject, report: &Report) -> Option<bool> {
    match subject {
        Subject::Scenario(name) => {
            let ended = report.scenario(name)?.ended;
            (ended != Ended::NotRun).then_some(ended != Ended::Pass)
        }
        Subject::Rule(id) => {
            let rule: &Rule = report.rules.iter().find(|rule| rule.id == *id)?;
            match rule.standing() {
                RuleStanding::NotRun => None,
                standing => Some(standing == RuleStanding::Failed),
            }
        }
        Subject::Claim(id) => {
            let claim: &Claim = report.claims.iter().find(|claim| claim.id == *id)?;
            match claim.standing {
                ClaimStanding::NotRun => None,
                standing => Some(standing == ClaimStanding::Fails),
            }
        }
    }
}
