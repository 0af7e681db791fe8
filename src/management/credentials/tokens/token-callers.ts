// Authenticates a request with a direct token on the server that issued the token. The signature proves the token. Its rights are
// the rights of its access key as the key is now, narrowed by the scopes of the token. In: the text and the address. Out: a user
// of the kit.
import type { User } from '../../../apiserver/request/identity.ts';
import { StatusFault } from '../../../apiserver/request/status-fault.ts';
import type { Clock } from '../../../clock.ts';
import { unauthorized } from '../../../object/meta/status.ts';
import type { Misses } from '../../keys/callers/misses.ts';
import { credentialOf, type DeadBecause, type KeyWorld } from '../../keys/life/credential.ts';
import type { KeyFacts } from '../../keys/life/key-facts.ts';
import type { Credential } from '../../scope/allows.ts';
import type { Directory } from '../../scope/directory.ts';
import { parseScope } from '../../scope/parse-scope.ts';
import type { Scope } from '../../scope/scope.ts';
import type { TokenClaims } from '../claims/claims.ts';
import { TokenCache } from '../claims/token-cache.ts';
import { type RefusedBecause, refusedNow, refusedText, unproved } from '../claims/verify-token.ts';
import type { TokenKeys } from './token-keys.ts';
import type { TokenLedger } from './token-ledger.ts';

export interface TokenSession {
  credential: Credential;
  facts: KeyFacts;
  directory: Directory;
  address: string | undefined;
  /** Asked while a stream of this token is open. */
  endedBecause(): string | undefined;
}

export interface TokenCallersOptions {
  keys: TokenKeys;
  ledger: TokenLedger;
  world: KeyWorld;
  issuer: string;
  clock: Clock;
  /** Where other replicas issue tokens too. */
  misses?: Misses | undefined;
  deadText: Readonly<Record<DeadBecause, string>>;
  userOf(session: TokenSession): User;
}

export class TokenCallers {
  readonly #parts: TokenCallersOptions;
  readonly #cache = new TokenCache();
  readonly #scopes = new WeakMap<TokenClaims, Scope[]>();

  constructor(parts: TokenCallersOptions) {
    this.#parts = parts;
  }

  /** Undefined = not a token of this server. Throws a 401 with the reason for a token that is not valid. */
  authenticate(text: string, address: string | undefined): User | undefined {
    const { keys, issuer, deadText, world, userOf } = this.#parts;
    const verified = this.#cache.verify(text, keys.keySet, { issuer, audience: issuer });
    if (verified.kind === 'refused' && unproved.has(verified.because)) return undefined;
    if (verified.kind === 'refused') throw new StatusFault(unauthorized(refusedText[verified.because]));
    const { claims } = verified;
    const because = this.#refusedNow(claims);
    if (because !== undefined) throw new StatusFault(unauthorized(refusedText[because]));
    const found = this.#keyOf(claims, address);
    if (found.kind === 'dead') throw new StatusFault(unauthorized(deadText[found.because]));
    const { credential, facts } = found;
    const scopes = [...this.#scopesOf(claims), ...credential.scopes];
    const endedBecause = () => this.#endOf(claims, address);
    const { directory } = world;
    return userOf({ credential: { ...credential, scopes }, facts, directory, address, endedBecause });
  }

  /** As `authenticate`, but of a key that is new here it first hears what the other replicas have done. */
  async authenticateAnywhere(text: string, address: string | undefined): Promise<User | undefined> {
    const { keys, issuer, ledger, world, misses } = this.#parts;
    if (misses !== undefined) {
      const verified = this.#cache.verify(text, keys.keySet, { issuer, audience: issuer });
      const { keyUid, keyName } = verified.kind === 'refused' ? { keyUid: '', keyName: '' } : verified.claims;
      const isNew = world.key(keyName)?.record.uid !== keyUid || ledger.isUnknown(keyUid);
      if (keyUid !== '' && isNew) await misses.look(address ?? '');
    }
    return this.authenticate(text, address);
  }

  #endOf(claims: TokenClaims, address: string | undefined): string | undefined {
    const because = this.#refusedNow(claims);
    if (because !== undefined) return refusedText[because];
    const found = this.#keyOf(claims, address);
    return found.kind === 'dead' ? this.#parts.deadText[found.because] : undefined;
  }

  #refusedNow(claims: TokenClaims): RefusedBecause | undefined {
    const { ledger, clock } = this.#parts;
    return refusedNow(claims, clock.wallTime().getTime(), (token) => ledger.isRevoked(token));
  }

  #keyOf({ keyName, keyUid }: TokenClaims, address: string | undefined): ReturnType<typeof credentialOf> {
    const { world, clock } = this.#parts;
    const facts = world.key(keyName);
    if (facts === undefined || facts.record.uid !== keyUid) return { kind: 'dead', because: 'deleted' };
    return credentialOf(facts, world, { nowMs: clock.wallTime().getTime(), address });
  }

  #scopesOf(claims: TokenClaims): Scope[] {
    const known = this.#scopes.get(claims);
    if (known !== undefined) return known;
    const scopes = claims.scopes.map((scope) => parseScope(scope).scope);
    this.#scopes.set(claims, scopes);
    return scopes;
  }
}
