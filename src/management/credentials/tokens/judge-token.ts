// Judges the spec of a new token: its lifetime must lie inside the limits and the life of the calling key, and its scope inside
// the scope of the key. Pure: the spec and the caller in, the filled values or every fault out.
import { type FieldError, invalidValue } from '../../../object/meta/field-error.ts';
import type { KubeObject } from '../../../object/meta/object.ts';
import { isRecord } from '../../../object/text/json.ts';
import { privilegeRefusals, widthRefusals } from '../../keys/rules/issue.ts';
import { emptyJudgement, type JudgeContext, type Judgement } from '../../keys/rules/judgement.ts';
import { keySpec } from '../../keys/rules/key-spec.ts';
import { parseScope } from '../../scope/parse-scope.ts';
import { defaultTokenTTL, longestTokenTTL, shortestTokenTTL } from '../claims/claims.ts';

export interface WantedToken {
  judgement: Judgement;
  ttl: number;
  /** The token's own scope; undefined = the scope of the key. */
  scope: Record<string, unknown> | undefined;
}

/** `endMs`: the end of the calling key or of the first of its makers; undefined = no end. */
export function judgeToken(object: KubeObject, context: JudgeContext, endMs: number | undefined): WantedToken {
  const judgement = emptyJudgement();
  const { scope: scopeValue } = keySpec(object);
  const left = endMs === undefined ? undefined : Math.floor((endMs - context.nowMs) / 1000);
  const ttl = judgeTTL(keySpec(object).ttl, left, judgement);
  const scope = isRecord(scopeValue) ? scopeValue : undefined;
  if (scope !== undefined) {
    const parsed = parseScope(scope);
    judgement.errors.push(...parsed.errors);
    judgement.warnings.push(...parsed.warnings);
    judgement.refusals.push(...widthRefusals({ scope }, context));
    const given = keySpec({ metadata: {}, spec: { scope } });
    judgement.refusals.push(...privilegeRefusals({ metadata: {} }, given, context.caller.isAdministrator));
  }
  return { judgement, ttl, scope };
}

function judgeTTL(asked: number, left: number | undefined, { errors, warnings }: Judgement): number {
  if (asked === 0) {
    if (left === undefined || left >= defaultTokenTTL) return defaultTokenTTL;
    const filled = Math.max(1, left);
    warnings.push(`spec.ttl: set to ${filled}, because the access key expires then`);
    return filled;
  }
  const fault = ttlFault(asked, left);
  if (fault !== undefined) errors.push(fault);
  return asked;
}

function ttlFault(asked: number, left: number | undefined): FieldError | undefined {
  if (!Number.isSafeInteger(asked) || asked < shortestTokenTTL || asked > longestTokenTTL)
    return invalidValue('spec.ttl', asked, `must be from ${shortestTokenTTL} to ${longestTokenTTL} seconds`);
  if (left === undefined || asked <= left) return undefined;
  const most = left < shortestTokenTTL ? 'leave it out' : `at most ${left}`;
  return invalidValue(
    'spec.ttl',
    asked,
    `the token must end no later than its access key, in ${left} seconds: ${most}`,
  );
}
