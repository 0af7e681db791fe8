// What a key can be exchanged for, and how that ends: direct tokens (`tokens/`, their form in `claims/`), kubeconfigs (`kubeconfig/`) and
// client certificates (`certificates/`, made in `issue/`). This file opens the issuing of direct tokens as one part.
// In: callers, the store, the folder, virtual clusters that sign. Out: credentials never wider than their key, and revocations of them.
// Must never know how a request passes to a cluster, nor who reads a revocation.
import type { Route } from '../../apiserver/chain/chain.ts';
import type { Kind, SubresourceAction } from '../../apiserver/kinds/kind.ts';
import { StatusFault } from '../../apiserver/request/status-fault.ts';
import { sendJson } from '../../apiserver/wire/respond.ts';
import type { Clock, Timer } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { serviceUnavailable, soonSeconds } from '../../object/meta/status.ts';
import type { Followers } from '../../store/follow/follower.ts';
import type { Store } from '../../store/store.ts';
import type { Misses } from '../keys/callers/misses.ts';
import type { KeyWorld } from '../keys/life/credential.ts';
import { managementGroup, tokenResource } from '../scope/request.ts';
import { tokenSchemaName } from './schema/token-schema.ts';
import { issueToken, type TokenIssueParts, tokenKindName } from './tokens/issue-token.ts';
import { PublishedRevocations } from './tokens/published-revocations.ts';
import { revocationKind } from './tokens/revocation-kind.ts';
import { SharedLines } from './tokens/shared-lines.ts';
import { TokenCallers, type TokenCallersOptions } from './tokens/token-callers.ts';
import { keySetMaxAgeSeconds, TokenKeys } from './tokens/token-keys.ts';
import { ledgerPrefix, TokenLedger } from './tokens/token-ledger.ts';

export interface Issuing {
  keys: TokenKeys;
  ledger: TokenLedger;
  callers: TokenCallers;
  /** Tokens and revocations. */
  kinds: Kind[];
  /** The key set for verifiers. */
  route: Route;
  stop(): Promise<void>;
}

export interface OpenIssuingOptions {
  folder: string;
  store: Store;
  followers: Followers;
  world: KeyWorld;
  clock: Clock;
  log: Log;
  issuer: string;
  /** Where other replicas issue tokens too. */
  misses: Misses | undefined;
  /** Whether this replica is the one that makes new keys. */
  mayRenew(): boolean;
  /** Opens the keys that sign, where other replicas must have them too. */
  openKeys(open: () => Promise<TokenKeys>): Promise<TokenKeys>;
  callerOf: TokenIssueParts['callerOf'];
  visibleSince: NonNullable<Kind['visibleTo']>;
  deadText: TokenCallersOptions['deadText'];
  userOf: TokenCallersOptions['userOf'];
  /** Called when verifiers must not believe what they read before. */
  revocationsLost(): void;
}

/** Keys change every month, and are published minutes ahead: every minute is early enough. */
const keyChoreMs = 60_000;

export async function openIssuing(options: OpenIssuingOptions): Promise<Issuing> {
  const { folder, store, followers, world, clock, log, issuer, callerOf, visibleSince, deadText, userOf } = options;
  const nowMs = () => clock.wallTime().getTime();
  const failed = (error: unknown) =>
    log.error({ component: 'management', error: String(error) }, 'state of direct tokens not written');
  const keys = await options.openKeys(() => TokenKeys.open(folder, nowMs()));
  // Of several replicas one makes the keys, and the others read what it has written.
  const renew = () => (options.mayRenew() ? keys.keepUp(nowMs()) : keys.readAgain());
  await renew();
  const revocations = new PublishedRevocations({ store, clock, failed, lost: options.revocationsLost });
  const shared = options.misses && new SharedLines({ store, followers }, ledgerPrefix);
  const ledger = new TokenLedger({ store: shared ?? store, revocations, world, nowMs, failed });
  await ledger.start(keys.areNew, { isShared: shared !== undefined });
  await shared?.start((uid, text) => ledger.heard(uid, text));
  const visibleTo: typeof visibleSince = (user) => {
    if (!revocations.areComplete)
      throw new StatusFault(
        serviceUnavailable('a revocation cannot be stored, so no list of them is complete', soonSeconds),
      );
    return visibleSince(user);
  };
  let chore: Timer | undefined;
  let isStopped = false;
  const keepUp = () => {
    if (isStopped) return;
    chore = clock.after(keyChoreMs, () => void renew().catch(failed).finally(keepUp));
  };
  keepUp();
  return {
    keys,
    ledger,
    callers: new TokenCallers({ keys, ledger, world, issuer, clock, deadText, userOf, misses: options.misses }),
    kinds: [tokenKind(issueToken({ keys, ledger, world, issuer, callerOf })), revocationKind(visibleTo)],
    route: keySetPath(keys),
    async stop() {
      isStopped = true;
      chore?.cancel();
      await shared?.stop();
    },
  };
}

// Serves GET /.well-known/jwks.json, the public keys of tokens, without authentication.
function keySetPath(keys: TokenKeys): Route {
  return {
    takes: ({ verb, outside }) => verb === 'get' && outside === '/.well-known/jwks.json',
    async serve(exchange) {
      await exchange.begins();
      sendJson(exchange.response, 200, JSON.stringify(keys.document), {
        'cache-control': `public, max-age=${keySetMaxAgeSeconds}`,
      });
    },
  };
}

// DirectClusterEndpointToken as data for the kit: clients can only create it, without a namespace and without a name.
function tokenKind(issue: SubresourceAction): Kind {
  return {
    group: managementGroup,
    version: 'v1',
    kind: tokenKindName,
    plural: tokenResource,
    singular: 'directclusterendpointtoken',
    namespaced: false,
    verbs: ['create'],
    schema: tokenSchemaName,
    storage: '',
    strategy: {},
    columns: [],
    answer: issue,
    holdsSecret: true,
  };
}
