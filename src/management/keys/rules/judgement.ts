// What the rules about issuing and changing keys know of the caller, and how they answer: 422 for what is never right, 403
// with a field for what this caller may not do.
import type { KeyLimits } from '../../../config/settings/management-settings.ts';
import type { FieldError } from '../../../object/meta/field-error.ts';
import type { Credential } from '../../scope/allows.ts';
import type { Directory } from '../../scope/directory.ts';

export interface Refusal {
  field: string;
  message: string;
}

export interface Judgement {
  errors: FieldError[];
  refusals: Refusal[];
  warnings: string[];
}

export interface Caller {
  credential: Credential;
  /** Administrator through a credential that nothing narrows. */
  isAdministrator: boolean;
  /** When the calling key ends; undefined = it does not. */
  expiryMs: number | undefined;
  /** The annotation hostward.dev/allowed-cidrs of the calling key; undefined = it is used from everywhere. */
  networks: string | undefined;
  /** How many keys stand between the calling key and one that no scoped key made. */
  makers: number;
}

export interface JudgeContext {
  caller: Caller;
  directory: Directory;
  limits: KeyLimits;
  nowMs: number;
  /** The new key has the owner and the groups of the calling key, which need no leave then. */
  inherits?: boolean;
}

export function emptyJudgement(): Judgement {
  return { errors: [], refusals: [], warnings: [] };
}

/** One sentence for the message of a 403; the fields are its causes. */
export function refusalText(refusals: readonly Refusal[]): string {
  return refusals.map(({ field, message }) => `${field}: ${message}`).join('; ');
}
