// The authorisation matrix answered a second time: slowly, sentence by sentence, by a program that shares nothing with the
// implementation. It was written from the requirements (R), the design of the management API (D) and the notes in
// matrix-case.ts (N) alone.
import type { MatrixAnswer, MatrixCase, MatrixKey, MatrixRequest, MatrixScope } from '../matrix-case.ts';
import { alwaysRefused } from './issuing.ts';
import { deathOf, scopesInForce } from './life.ts';
import { isOnKeys, ownGroup, staysInSpace } from './request.ts';
import { asksForCertificate, rights } from './rights.ts';
import { baseGrant, entries } from './scope.ts';
import { firstThatApplies, isEmpty } from './sentence.ts';
import { isAdministrator, teamsOf } from './subject.ts';

export interface ModelVerdict {
  answer: MatrixAnswer;
  /** The sentences that led to `allowed`: one that refuses, or all that allow. */
  because: string[];
}

export function modelAnswer(of: MatrixCase): MatrixAnswer {
  return modelVerdict(of).answer;
}

export function modelVerdict(of: MatrixCase): ModelVerdict {
  const caller = of.keys.find((key) => key.name === of.caller);
  if (caller === undefined) throw new Error(`the case names the caller "${of.caller}", which is no key of the case`);
  const death = deathOf(caller, of);
  if (death !== undefined) return { answer: { allowed: false, sees: [] }, because: [death] };
  const sees = of.keys.filter((key) => isVisible(key, caller, of)).map((key) => key.name);
  if (isHidden(of.request, caller, of)) return { answer: { allowed: true, sees: sees.toSorted() }, because: [hidden] };
  const { allowed, because } = authorise(of.request, caller, of);
  return { answer: { allowed, sees: sees.toSorted() }, because };
}

/**
 * D 2.14: what a self-review answers about the request. A review asks about rights alone, so a key that the caller cannot see
 * is no 404 here. `dead` = the key does not authenticate, so it cannot even ask.
 */
export function modelReview(of: MatrixCase): 'dead' | 'yes' | 'no' {
  const caller = of.keys.find((key) => key.name === of.caller);
  if (caller === undefined || deathOf(caller, of) !== undefined) return 'dead';
  return authorise(of.request, caller, of).allowed ? 'yes' : 'no';
}

interface Judgement {
  allowed: boolean;
  because: string[];
}

const hidden = 'D 2.7, N allowed: a key that the caller cannot see is 404, never 403';

/** D 2.7: "Everybody else gets 404, never 403." N allowed: "404, which counts as allowed here". */
function isHidden(request: MatrixRequest, caller: MatrixKey, of: MatrixCase): boolean {
  if (!isOnKeys(request) || !namesAnObject(request)) return false;
  const named = of.keys.find((key) => key.name === request.name);
  // D 2.7: "A hidden and an absent name answer alike".
  return named === undefined || !isVisible(named, caller, of);
}

/** A list or watch with a field selector gives an empty list for a hidden name, and no 404. */
function namesAnObject(request: { verb: string; name: string }): boolean {
  return request.name !== '' && request.verb !== 'list' && request.verb !== 'watch';
}

/** D 2.4: "`scope` only narrows: union of its entries, cut with what the subject may do now." Names alone count (N 4). */
function authorise(request: MatrixRequest, caller: MatrixKey, of: MatrixCase): Judgement {
  const { configuration } = of;
  if (!staysInSpace(request, configuration))
    return { allowed: false, because: ['D 4.2: the place is judged once, before persons and scopes'] };
  const scopes = scopesInForce(caller, of);
  if (asksForCertificate(request) && scopes.some((scope) => !isEmpty(scope.rules)))
    return { allowed: false, because: ['N 5: clientCert is refused when any scope in force has rules'] };
  const right = firstThatApplies(rights, { key: caller, configuration, request });
  if (right === undefined) return { allowed: false, because: ['D 2.2: the subject has no such right'] };
  const because = [right];
  for (const scope of scopes) {
    const grant = grantOf(scope, request, caller, of);
    if (grant === undefined)
      return {
        allowed: false,
        because: ['D 2.4, N 8: a scope in force allows neither by an entry nor by the base grant'],
      };
    because.push(grant);
  }
  const refused = firstThatApplies(alwaysRefused, { scopes, key: caller, configuration, request });
  return refused === undefined ? { allowed: true, because } : { allowed: false, because: [refused] };
}

/** N 8: "each scope must allow by itself, the base grant being part of each". */
function grantOf(scope: MatrixScope, request: MatrixRequest, caller: MatrixKey, of: MatrixCase): string | undefined {
  return firstThatApplies([...baseGrant, ...entries], {
    scope,
    caller: caller.name,
    configuration: of.configuration,
    request,
  });
}

/**
 * D 2.7: "Visible and manageable keys: subject is the caller, or a team the caller is in now; administrators see all. … A
 * scoped key sees only itself unless a rule grants more."
 */
function isVisible(key: MatrixKey, caller: MatrixKey, of: MatrixCase): boolean {
  if (key.name === caller.name) return true;
  const scopes = scopesInForce(caller, of);
  if (!concernsCaller(key, caller, of)) {
    // N 1: "what only administrators may do with the keys of others (2.7, 2.8) needs a key without scope, and the scopes of
    // its makers empty too".
    return isAdministrator(caller, of.configuration) && scopes.length === 0;
  }
  return scopes.length === 0 || rulesGrantSomethingOn(key, caller, of);
}

/** D 2.7: "subject is the caller, or a team the caller is in now". */
function concernsCaller(key: MatrixKey, caller: MatrixKey, of: MatrixCase): boolean {
  if (key.user !== undefined) return key.user === caller.user;
  if (key.team !== undefined) return teamsOf(caller, of.configuration).has(key.team);
  return key.subject === caller.subject;
}

/** A rule grants more than the key itself when the scopes in force allow any request that names the other key. */
function rulesGrantSomethingOn(key: MatrixKey, caller: MatrixKey, of: MatrixCase): boolean {
  const verbsOnTheKey = ['get', 'list', 'watch', 'update', 'patch', 'delete'].map((verb) => ({
    verb,
    subresource: '',
  }));
  const verbsOnRotate = ['create', 'get', 'update', 'patch', 'delete'].map((verb) => ({ verb, subresource: 'rotate' }));
  return [...verbsOnTheKey, ...verbsOnRotate].some(({ verb, subresource }) => {
    const request: MatrixRequest = {
      target: { kind: 'Management' },
      isResource: true,
      verb,
      group: ownGroup,
      resource: 'ownedaccesskeys',
      subresource,
      namespace: '',
      name: key.name,
    };
    return authorise(request, caller, of).allowed;
  });
}
