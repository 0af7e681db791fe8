// Serves the paths outside the API: metrics, and the probes of a load balancer, which knows nothing of the prefix of the API.
import type { Route } from '../../apiserver/chain/chain.ts';
import type { ServedRequest } from '../../apiserver/chain/served-request.ts';
import type { VersionInfo } from '../../apiserver/discovery/serve-path.ts';
import { sendJson, sendText } from '../../apiserver/wire/respond.ts';
import type { Metrics } from '../../metrics.ts';

const probe = /^\/(?:healthz|livez|readyz|readyz\/management)$/;

export function otherPaths(parts: {
  metrics: Metrics | undefined;
  version: VersionInfo;
  isReady: () => boolean;
  /** Stops readiness alone: a new start would not free the disk. */
  writeTrouble: () => string | undefined;
}): Route[] {
  const { metrics, version, isReady, writeTrouble } = parts;
  const troubleAt = (path: string) => {
    if (!isReady()) return 'the server is not ready';
    return path.startsWith('/readyz') ? writeTrouble() : undefined;
  };
  const probes = ({ target: { outside = '' }, response }: ServedRequest) => {
    const trouble = troubleAt(outside);
    if (trouble === undefined) sendText(response, 200, 'ok');
    else sendText(response, 500, `${trouble}\n`);
  };
  const routes: Route[] = [
    read(({ outside = '' }) => probe.test(outside), probes),
    read(
      ({ outside }) => outside === '/version',
      ({ response }) => sendJson(response, 200, JSON.stringify(version)),
    ),
  ];
  if (metrics === undefined) return routes;
  const scraped = async ({ response }: ServedRequest) => sendText(response, 200, await metrics.metrics());
  return [...routes, read(({ path }) => path === '/metrics', scraped)];
}

function read(isAt: Route['takes'], answer: (exchange: ServedRequest) => Promise<void> | void): Route {
  return {
    takes: (target) => target.verb === 'get' && isAt(target),
    async serve(exchange) {
      await exchange.begins();
      await answer(exchange);
    },
  };
}

/**
 * kubectl wants the semantic version of a Kubernetes API, and warns at each `kubectl version` when it is far from its own: this is
 * the version whose API is served. The version of Hostward follows it.
 */
export function versionOf(version: string): VersionInfo {
  return { major: '1', minor: '36', gitVersion: `v1.36.3+hostward-${version}` };
}
