// Opens the issuing of direct tokens as one part: the signing keys, the ledger of living tokens, the kind, and the paths that
// verifiers read. In: the folder, the store and the callers of the management API.
import type { OtherPaths } from '../../apiserver/discovery/serve-path.ts';
import type { Kind } from '../../apiserver/kinds/kind.ts';
import type { Clock, Timer } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { Store } from '../../store/store.ts';
import type { KeyWorld } from '../keys/life/credential.ts';
import { agentUploads, type UploadParts } from './agent-uploads.ts';
import { type IssueParts, issueToken } from './issue-token.ts';
import { keySetPath } from './key-set-path.ts';
import { type FeedParts, RevocationFeed } from './revocation-feed.ts';
import { TokenCallers, type TokenCallersParts } from './token-callers.ts';
import { TokenKeys } from './token-keys.ts';
import { tokenKind } from './token-kind.ts';
import { TokenLedger } from './token-ledger.ts';

export interface Issuing {
  keys: TokenKeys;
  ledger: TokenLedger;
  feed: RevocationFeed;
  callers: TokenCallers;
  kind: Kind;
  /** The paths for verifiers and agents; they are tried before the other paths. */
  paths(otherwise: OtherPaths): OtherPaths;
  stop(): void;
}

export interface OpenIssuingOptions {
  folder: string;
  store: Store;
  world: KeyWorld;
  clock: Clock;
  log: Log;
  issuer: string;
  callerOf: IssueParts['callerOf'];
  mayRead: FeedParts['mayRead'];
  deadText: TokenCallersParts['deadText'];
  userOf: TokenCallersParts['userOf'];
  uploads: Pick<UploadParts, 'append' | 'used' | 'keyNameOf'>;
}

/** Keys change every month, and are published minutes ahead: every minute is early enough. */
const keyChoreMs = 60_000;

export async function openIssuing(options: OpenIssuingOptions): Promise<Issuing> {
  const { folder, store, world, clock, log, issuer, callerOf, mayRead, deadText, userOf } = options;
  const nowMs = () => clock.wallTime().getTime();
  const failed = (error: unknown) =>
    log.error({ component: 'management', error: String(error) }, 'state of direct tokens not written');
  const keys = await TokenKeys.open(folder, nowMs());
  await keys.keepUp(nowMs());
  const ledger = new TokenLedger({ store, world, nowMs, failed });
  await ledger.start(keys.areNew);
  const feed = new RevocationFeed({ ledger, issuer, clock, mayRead });
  let chore: Timer | undefined;
  let isStopped = false;
  const keepUp = () => {
    if (isStopped) return;
    chore = clock.after(keyChoreMs, () => void keys.keepUp(nowMs()).catch(failed).finally(keepUp));
  };
  keepUp();
  return {
    keys,
    ledger,
    feed,
    callers: new TokenCallers({ keys, ledger, world, issuer, clock, deadText, userOf }),
    kind: tokenKind(issueToken({ keys, ledger, world, issuer, callerOf })),
    paths: (otherwise) =>
      keySetPath(keys, feed.paths(agentUploads({ ledger, world, clock, ...options.uploads }, otherwise))),
    stop() {
      isStopped = true;
      chore?.cancel();
    },
  };
}
