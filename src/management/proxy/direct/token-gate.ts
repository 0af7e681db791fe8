// Admits to a direct endpoint only holders of tokens for its cluster that are valid at this moment. In: a bearer text and an
// address. Out: the holder, or a refusal with the remedy. Access keys are refused before they are read.
import type { User } from '../../../apiserver/request/identity.ts';
import { StatusFault } from '../../../apiserver/request/status-fault.ts';
import type { Clock } from '../../../clock.ts';
import type { DirectSettings } from '../../../config/settings/management-settings.ts';
import type { Log } from '../../../log.ts';
import { type Status, serviceUnavailable, unauthorized } from '../../../object/meta/status.ts';
import { placeText, type TokenClaims } from '../../credentials/claims/claims.ts';
import type { Revocations } from '../../credentials/claims/revocations.ts';
import { TokenCache } from '../../credentials/claims/token-cache.ts';
import {
  looksLikeToken,
  refusedNow,
  refusedText,
  unproved,
  type Verified,
} from '../../credentials/claims/verify-token.ts';
import type { KnownKeys } from './known-keys.ts';
import { holderOf, type TokenHolder } from './token-holder.ts';

export interface TokenGateOptions {
  settings: DirectSettings;
  keys: KnownKeys;
  revocations: Revocations;
  /** Why no token can be judged: revocations may be missing, or the key set; undefined = all is known. */
  trouble(): string | undefined;
  clock: Clock;
  log: Log;
}

const retrySeconds = 1;

export class TokenGate {
  readonly #parts: TokenGateOptions;
  readonly #cache = new TokenCache();
  readonly #holders = new WeakMap<TokenClaims, TokenHolder>();
  readonly #byUser = new WeakMap<User, TokenHolder>();
  /** Each is said once: the file is read at the start alone. */
  readonly #toldSpaces = new Set<string>();

  constructor(parts: TokenGateOptions) {
    this.#parts = parts;
  }

  /** Undefined = the platform never made such a text. */
  async authenticate(bearer: string, address: string | undefined): Promise<TokenHolder | undefined> {
    if (!looksLikeToken(bearer)) {
      const message =
        'this endpoint takes direct tokens only; create a DirectClusterEndpointToken with your access key, and never send the key here';
      throw new StatusFault(unauthorized(message));
    }
    if (this.#parts.keys.keys.size === 0) await this.#parts.keys.askAgain();
    const trouble = this.#parts.trouble();
    if (trouble !== undefined) throw new StatusFault(unavailable(`${trouble}, so no token is accepted`));
    const verified = await this.#verify(bearer);
    if (verified.kind === 'refused' && unproved.has(verified.because)) return undefined;
    const because = verified.kind === 'refused' ? verified.because : this.#refusedNow(verified.claims);
    if (because !== undefined) throw new StatusFault(unauthorized(refusedText[because]));
    if (verified.kind === 'refused') return undefined;
    const holder = this.#holderFor(verified.claims);
    if (holder.networks !== undefined && !holder.networks.includes(address))
      throw new StatusFault(unauthorized('the token is not valid from your address'));
    return holder;
  }

  /** Why an open stream may not go on; undefined = it may. */
  endOf(user: User): Status | undefined {
    const claims = this.#byUser.get(user)?.claims;
    if (claims === undefined) return unauthorized('the token is not known any more');
    const trouble = this.#parts.trouble();
    if (trouble !== undefined) return unavailable(`${trouble}, so no token is accepted`);
    const because = this.#refusedNow(claims);
    return because === undefined ? undefined : unauthorized(refusedText[because]);
  }

  /** For the audit. */
  subjectOf(user: User | undefined) {
    const claims = user === undefined ? undefined : this.#byUser.get(user)?.claims;
    if (claims === undefined) return { kind: 'unknown' as const, name: '', key: '' };
    return { kind: claims.subjectKind, name: claims.subjectName, key: claims.keyName };
  }

  /** Called after the keys have changed. */
  forgetProofs(): void {
    this.#cache.clear();
  }

  async #verify(text: string): Promise<Verified> {
    const { keys, settings } = this.#parts;
    const expected = { issuer: settings.platform, audience: settings.cluster };
    const verified = this.#cache.verify(text, keys.keys, expected);
    if (verified.kind === 'good' || verified.because !== 'unknown key') return verified;
    await keys.askAgain();
    return this.#cache.verify(text, keys.keys, expected);
  }

  #refusedNow(claims: TokenClaims) {
    const { clock, revocations } = this.#parts;
    return refusedNow(claims, clock.wallTime().getTime(), (token) => revocations.isRevoked(token));
  }

  /** Undefined for a caller without a token. */
  holderOf(user: User): TokenHolder | undefined {
    return this.#byUser.get(user);
  }

  #holderFor(claims: TokenClaims): TokenHolder {
    const known = this.#holders.get(claims);
    if (known !== undefined) return known;
    const holder = holderOf(claims, this.#parts.settings);
    this.#tellMoved(claims);
    this.#holders.set(claims, holder);
    this.#byUser.set(holder.user, holder);
    return holder;
  }

  /** Nobody else compares the two configurations, and the tenant sees only that the space is not there. */
  #tellMoved({ spaces: places }: TokenClaims): void {
    const { settings, log } = this.#parts;
    for (const { project, name: space, namespace } of settings.spaces) {
      const place = { cluster: settings.cluster, project, space };
      const beginning = placeText({ ...place, namespace: '' });
      const its = places.find((one) => one.startsWith(beginning))?.slice(beginning.length);
      if (its === undefined || its === namespace || this.#toldSpaces.has(beginning)) continue;
      this.#toldSpaces.add(beginning);
      log.warn(
        { component: 'direct', project, space, namespace, atPlatform: its },
        'a space has another namespace at the platform than in hostward.direct.spaces, so nobody reaches it here; write that one and restart',
      );
    }
  }
}

function unavailable(message: string): Status {
  return { ...serviceUnavailable(message), details: { retryAfterSeconds: retrySeconds } };
}
