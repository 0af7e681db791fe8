// Runs the checks in their order. In: a patient. Out: a finding for each check that makes sense, and the checks that another one
// hides. A fault of a command is a finding here: one check that fails must not hide the others.
import { CommandFault, exitCodes } from '../line/context.ts';
import { silenceOf } from './lost.ts';
import type { Check } from './patient/check.ts';
import type { Code } from './patient/codes.ts';
import { type CheckedFinding, couldNotCheck, type Finding } from './patient/finding.ts';
import type { Patient } from './patient/patient.ts';

export interface Examination {
  findings: readonly CheckedFinding[];
  /** Checks that were not run, each with the check that would have had to be good. */
  hidden: readonly { code: Code; because: Code }[];
}

export async function examine(patient: Patient, checks: readonly Check[]): Promise<Examination> {
  const findings: CheckedFinding[] = [];
  const hidden: { code: Code; because: Code }[] = [];
  const isGood = new Map<Code, boolean>();
  for (const check of checks) {
    const { code, needs } = check;
    const isLastWord = check.isLastWord === true;
    const silence = (): Code | undefined => (isLastWord ? undefined : silenceOf(patient, needs));
    const because = silence() ?? needs.find((one) => isGood.get(one) === false);
    if (because !== undefined) {
      isGood.set(code, false);
      // Without the configuration nobody knows whether the check would have made sense.
      if (because !== 'HW-101' && check.applies?.(patient) !== false) hidden.push({ code, because });
      continue;
    }
    if (patient.stopping.aborted && !isLastWord) continue;
    if (check.applies?.(patient) === false) continue;
    const finding = await lookAt(check, patient);
    const lost = silence();
    // Silence looks like a thing or a right that is missing.
    if (lost !== undefined && finding.verdict !== 'ok') {
      isGood.set(code, false);
      hidden.push({ code, because: lost });
      continue;
    }
    const isEnough = finding.verdict === 'couldNotCheck' && check.isGoodUnchecked === true;
    isGood.set(code, isEnough || finding.verdict === 'ok' || finding.verdict === 'warning');
    findings.push({ code, ...finding });
  }
  return { findings, hidden };
}

async function lookAt(check: Check, patient: Patient): Promise<Finding> {
  try {
    return await check.look(patient);
  } catch (thrown) {
    if (!(thrown instanceof CommandFault)) throw thrown;
    const isUnanswered = thrown.exitCode === exitCodes.environment;
    return couldNotCheck(thrown.message, { mend: thrown.hint ?? 'run doctor again', isUnanswered });
  }
}
