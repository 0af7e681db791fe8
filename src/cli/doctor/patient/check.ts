// What a check of `hostward doctor` is: a code, the codes that must be good before it, and a look at the patient. Knows no check.
import type { Code } from './codes.ts';
import type { Finding } from './finding.ts';
import type { Patient } from './patient.ts';

export interface Check {
  code: Code;
  /** Without a good verdict of each of them the check is hidden: its own finding would mislead. */
  needs: readonly Code[];
  /** Whether the configuration and the options make the question a sensible one. */
  applies?: (patient: Patient) => boolean;
  /** The checks that need this one are run too when it could not be checked. */
  isGoodUnchecked?: boolean;
  /** Also after Ctrl-C: it says what an interrupted check has left. */
  isLastWord?: boolean;
  look(patient: Patient): Promise<Finding>;
}
