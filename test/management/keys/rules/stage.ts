// Keys and the people who make or change them, as the rules of keys are asked about them.
import { type JudgeContext, type Judgement, refusalText } from '../../../../src/management/keys/rules/judgement.ts';
import { actsAsAdministrator } from '../../../../src/management/scope/allows.ts';
import type { SubjectName } from '../../../../src/management/scope/directory.ts';
import { fieldErrorText } from '../../../../src/object/meta/field-error.ts';
import type { KubeObject } from '../../../../src/object/meta/object.ts';
import { scope, shop, subject } from '../../scope/scopes.ts';

export const nowMs = Date.parse('2026-01-01T00:00:00Z');

export const limits = { maxTTL: 0, requireExpiry: false, allowSupplied: false, perOwner: 1000 };

export function key(spec: object, metadata: object = {}): KubeObject {
  return { metadata: { name: 'k', ...metadata }, spec: { ...spec } };
}

export interface By {
  scopes?: (object | undefined)[];
  expiresIn?: number;
  makers?: number;
  networks?: string;
  limits?: Partial<typeof limits>;
  kind?: SubjectName['kind'];
}

export function by(
  who: string,
  { scopes = [undefined], expiresIn, makers = 0, networks, limits: own = {}, kind = 'user' }: By = {},
) {
  const credential = {
    subject: subject(who, undefined, kind),
    keyName: 'calling',
    scopes: scopes.map((value) => (value === undefined ? undefined : scope(value))),
  };
  const expiryMs = expiresIn === undefined ? undefined : nowMs + expiresIn * 1000;
  const caller = { credential, isAdministrator: actsAsAdministrator(credential), expiryMs, networks, makers };
  return { caller, directory: shop, limits: { ...limits, ...own }, nowMs } satisfies JudgeContext;
}

export function said({ errors, refusals }: Judgement): string[] {
  return [...errors.map((of) => `422 ${fieldErrorText(of)}`), ...refusals.map((of) => `403 ${refusalText([of])}`)];
}
