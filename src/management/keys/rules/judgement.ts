// The input of the rules about issuing and changing keys, and their answers: 422 for a value that is never allowed, 403 with a
// field for a value that this caller may not set.
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
  /** The caller is an administrator whose key has no scope. */
  isAdministrator: boolean;
  /** When the calling key ends; undefined = it does not. */
  expiryMs: number | undefined;
  /** The annotation hostward.dev/allowed-cidrs of the calling key; undefined = it is used from everywhere. */
  networks: string | undefined;
  /** How many keys are between the calling key and one that no scoped key made. */
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
