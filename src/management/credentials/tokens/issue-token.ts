// Issues a direct token: judges the request, records that the key has a living token, and signs the claims. In: the caller's key
// and the body. Out: the object with the token, which is shown once and never stored.
import { randomUUID } from 'node:crypto';
import type { SubresourceAction } from '../../../apiserver/kinds/kind.ts';
import { forbiddenBecause, StatusFault } from '../../../apiserver/request/status-fault.ts';
import { type FieldError, invalidValue } from '../../../object/meta/field-error.ts';
import type { KubeObject } from '../../../object/meta/object.ts';
import { invalid } from '../../../object/meta/status.ts';
import { isRecord } from '../../../object/text/json.ts';
import { type KeyWorld, makersOf } from '../../keys/life/credential.ts';
import { expiryOf } from '../../keys/life/expiry.ts';
import type { KeyFacts } from '../../keys/life/key-facts.ts';
import { privilegeRefusals, widthRefusals } from '../../keys/rules/issue.ts';
import { emptyJudgement, type JudgeContext, type Judgement, refusalText } from '../../keys/rules/judgement.ts';
import { keySpec } from '../../keys/rules/key-spec.ts';
import type { Subject } from '../../scope/directory.ts';
import { parseScope } from '../../scope/parse-scope.ts';
import { managementGroup, tokenResource } from '../../scope/request.ts';
import {
  defaultTokenTTL,
  longestTokenTTL,
  maxTokenBytes,
  payloadOf,
  shortestTokenTTL,
  type TokenClaims,
} from '../claims/claims.ts';
import type { TokenKeys } from './token-keys.ts';
import type { TokenLedger } from './token-ledger.ts';
import { type ReachingRights, rightsOf, scopesOf, withoutDoubles } from './token-rights.ts';

export const tokenKindName = 'DirectClusterEndpointToken';

export interface IssuingCaller {
  context: JudgeContext;
  subject: Subject;
  /** Undefined for the program itself, which has no key. */
  facts: KeyFacts | undefined;
}

export interface TokenIssueParts {
  keys: TokenKeys;
  ledger: TokenLedger;
  world: KeyWorld;
  issuer: string;
  callerOf(user: Parameters<SubresourceAction>[1]['user']): IssuingCaller | undefined;
}

const about = { group: managementGroup, kind: tokenKindName };
const resource = { group: managementGroup, resource: tokenResource };

export function issueToken(parts: TokenIssueParts): SubresourceAction {
  return async (body, ctx) => {
    const caller = parts.callerOf(ctx.user);
    if (caller?.facts === undefined)
      throw forbiddenBecause(resource, '', 'a direct token comes from an access key; send the request with one', []);
    const { facts, subject, context } = caller;
    const { world } = parts;
    const { judgement, ttl, scope } = judgeToken(body, context, endOf(facts, world));
    for (const line of [...judgement.warnings, ...nameWarnings(body)]) ctx.warn(line);
    refuse(judgement);
    const scopes = withoutDoubles([...(scope === undefined ? [] : [scope]), ...scopesOf(facts, world)]);
    const rights = rightsOf(world.directory, subject, { scopes, networks: facts.networksText });
    const id = randomUUID();
    const issuedAt = Math.floor(context.nowMs / 1000);
    const made = { id, issuedAt, expires: issuedAt + ttl };
    const shownScope = scope ?? facts.scoped?.value;
    const answer = {
      metadata: { uid: id, creationTimestamp: ctx.now },
      spec: { ttl, ...(shownScope === undefined ? {} : { scope: shownScope }) },
    };
    const draft = claimsOf(parts, facts, rights, { ...made, generation: Number.MAX_SAFE_INTEGER });
    checkSize(draft, rights);
    if (rights.reached.length === 0)
      ctx.warn('the token reaches no cluster: neither the configuration nor the scope lets it');
    if (ctx.dryRun) return { ...answer, status: {} };
    const generation = await parts.ledger.issue(facts, made.expires * 1000);
    const token = await parts.keys.sign(payloadOf({ ...draft, generation }), context.nowMs);
    // The key may have changed since it was proved: a generation from after the change would outlive it, with the rights from before.
    const because = ctx.ended();
    if (because !== undefined) throw new StatusFault(because);
    const owner = { [subject.kind]: subject.name };
    const text = JSON.stringify({ metadata: answer.metadata, spec: { ...owner, scope: shownScope } });
    ctx.wrote?.({ kind: tokenKindName, text });
    ctx.note?.(`made the token ${id}, which expires at ${new Date(made.expires * 1000).toISOString()}`);
    return { ...answer, status: { token } };
  };
}

/** A token ends with the first of the keys that it depends on: the calling key and the keys that made it. */
function endOf(facts: KeyFacts, world: KeyWorld): number | undefined {
  const ends = [facts, ...(makersOf(facts, world) ?? [])]
    .map((key) => expiryOf(key.times, world.lastActivityMs(key)))
    .filter((end) => end !== undefined);
  return ends.length === 0 ? undefined : Math.min(...ends);
}

function claimsOf(
  { issuer }: TokenIssueParts,
  { name, record }: KeyFacts,
  { reached, ...rights }: ReachingRights,
  made: Pick<TokenClaims, 'id' | 'issuedAt' | 'expires' | 'generation'>,
): TokenClaims {
  return {
    ...rights,
    ...made,
    notBefore: made.issuedAt,
    issuer,
    audience: [issuer, ...reached],
    subjectUid: record.subject.uid,
    subjectKind: record.subject.kind,
    subjectName: record.subject.name,
    keyUid: record.uid,
    keyName: name,
  };
}

/** Header, signature and dots of every token, and some room. */
const aroundPayload = 256;

function checkSize(claims: TokenClaims, { reached }: ReachingRights): void {
  const bytes = Math.ceil((Buffer.byteLength(JSON.stringify(payloadOf(claims))) * 4) / 3) + aroundPayload;
  if (bytes <= maxTokenBytes) return;
  const why = `the token would have ${bytes} bytes and reach ${reached.length} clusters, a token has at most ${maxTokenBytes} bytes: name fewer entries, and the clusters that the token is for`;
  throw new StatusFault(invalid(about, '', [invalidValue('spec.scope', `${bytes} bytes`, why)]));
}

function refuse({ errors, refusals }: Judgement): void {
  if (errors.length > 0) throw new StatusFault(invalid(about, '', errors));
  if (refusals.length === 0) return;
  const causes = refusals.map(({ field, message }) => ({ reason: 'FieldValueForbidden', message, field }));
  throw forbiddenBecause(resource, '', refusalText(refusals), causes);
}

/** A token is not stored, so it must not have a name under which a client would look for it. */
function nameWarnings({ metadata }: KubeObject): string[] {
  const named = (['name', 'generateName'] as const).filter((field) => (metadata[field] ?? '') !== '');
  return named.map((field) => `metadata.${field}: ignored, because a token has no name and is not kept`);
}

// Judges the spec of a new token: its lifetime must lie inside the limits and the life of the calling key, and its scope inside
// the scope of the key. Pure: the spec and the caller in, the filled values or every fault out.
interface WantedToken {
  judgement: Judgement;
  ttl: number;
  /** The token's own scope; undefined = the scope of the key. */
  scope: Record<string, unknown> | undefined;
}

/** `endMs`: the end of the calling key or of the first of its makers; undefined = no end. */
function judgeToken(object: KubeObject, context: JudgeContext, endMs: number | undefined): WantedToken {
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
