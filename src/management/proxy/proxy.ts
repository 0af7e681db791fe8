// Requests to clusters behind this server, here and at a direct endpoint (`direct/`), a process of its own that takes tokens alone.
// This file opens the proxy of a management server as one part: its route, the open requests, and the clusters; it connects to none yet.
// In: requests whose sender is proved, the directory, kubeconfigs. Out: the answers of clusters, streams that end with their credential.
// Must never know how a key is made, changed or stored, and never send a path or a query that was not classified.
import type { User } from '../../apiserver/request/identity.ts';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { Status } from '../../object/meta/status.ts';
import type { Credential } from '../scope/allows.ts';
import type { Directory } from '../scope/directory.ts';
import { PassedBytes } from './forward/passed-bytes.ts';
import { LiveStreams } from './live-streams.ts';
import { MissingRights, type UpstreamHealth } from './missing-rights.ts';
import { ProxyRoute } from './proxy-route.ts';
import { Upstreams } from './upstreams.ts';

export interface ManagementProxy {
  route: ProxyRoute;
  /** Asks the clusters behind for the rights that are needed there, and keeps asking while one is missing. */
  look(): void;
  /** Closes what passes for callers that must not go on. */
  endWhere(whyNot: (user: User) => Status | undefined): void;
  stop(): Promise<void>;
  /** For `hostward status`. */
  status(): { proxied: number; upstreams?: readonly UpstreamHealth[] };
}

export interface ProxyParts {
  callers: { sessionOf(user: User): { credential: Credential } | undefined };
  people: { directory: Directory };
}

export function openProxy(
  { callers, people }: ProxyParts,
  options: { clock: Clock; log: Log; environment: Readonly<Record<string, string | undefined>> },
): ManagementProxy {
  const { clock, log, environment } = options;
  const directory = () => people.directory;
  const live = new LiveStreams<User>();
  const upstreams = new Upstreams({ directory, environment, clock, log });
  const callerOf = (user: User) => {
    const session = callers.sessionOf(user);
    return session === undefined ? undefined : { credential: session.credential };
  };
  const route = new ProxyRoute({
    callerOf,
    directory,
    upstreams,
    live,
    passed: new PassedBytes({ clock, log }),
    clock,
    log,
  });
  const rights = new MissingRights({ directory, upstreams, clock, log });
  return {
    route,
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
