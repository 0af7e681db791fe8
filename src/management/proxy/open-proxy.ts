// Opens the proxy of a management server as one part: its paths, the open requests, and the clusters behind. In: the callers, the
// directory and the audit log. Connects to no cluster yet.
import type { Socket } from 'node:net';
import type { CallerLimits } from '../../apiserver/request/caller-limits.ts';
import type { User } from '../../apiserver/request/identity.ts';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { Status } from '../../object/meta/status.ts';
import type { Credential } from '../scope/allows.ts';
import type { Directory } from '../scope/directory.ts';
import { LivePassages } from './live-passages.ts';
import { MissingRights, type UpstreamHealth } from './missing-rights.ts';
import { ProxiedPaths, type ProxyAudit } from './proxied-paths.ts';
import { Upstreams } from './upstreams.ts';

export interface ManagementProxy {
  paths: ProxiedPaths;
  /** Asks the clusters behind for the rights that are needed there, and keeps asking while one is missing. */
  look(): void;
  /** Closes what passes for callers that must not go on. */
  endWhere(whyNot: (user: User) => Status | undefined): void;
  stop(): Promise<void>;
  /** For `hostward status`. */
  status(): { proxied: number; upstreams?: readonly UpstreamHealth[] };
}

export interface ProxyParts {
  callers: {
    authenticateKey(text: string, address: string | undefined): Promise<User | undefined>;
    sessionOf(user: User): { credential: Credential } | undefined;
  };
  people: { directory: Directory };
  audit: ProxyAudit;
  failedLogins: { failed(source: string): number | undefined };
}

export function openProxy(
  { callers, people, audit, failedLogins }: ProxyParts,
  options: {
    clock: Clock;
    log: Log;
    environment: Readonly<Record<string, string | undefined>>;
    proved(socket: Socket, caller: { credential: Credential }): void;
    limits: Pick<CallerLimits, 'admitBody'>;
  },
): ManagementProxy {
  const { clock, log, environment, proved, limits } = options;
  const directory = () => people.directory;
  const live = new LivePassages<User>();
  const upstreams = new Upstreams({ directory, environment, clock, log });
  const authenticate = async (bearer: string, address: string | undefined) => {
    const user = await callers.authenticateKey(bearer, address);
    const session = user === undefined ? undefined : callers.sessionOf(user);
    return user === undefined || session === undefined ? undefined : { user, credential: session.credential };
  };
  const failedLogin = (source: string) => failedLogins.failed(source);
  const about = { directory, upstreams, live, audit, clock, log };
  const paths = new ProxiedPaths({ authenticate, proved, limits, failedLogin, ...about });
  const rights = new MissingRights({ directory, upstreams, clock, log });
  return {
    paths,
    look: () => void rights.look(),
    endWhere: (whyNot) => live.closeWhere(whyNot),
    async stop() {
      rights.stop();
      await live.closeAll('the server is stopping');
      upstreams.close();
    },
    status() {
      const { health } = rights;
      return { proxied: live.count, ...(health.length > 0 && { upstreams: health }) };
    },
  };
}
