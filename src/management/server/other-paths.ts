// Serves the paths outside the API: metrics, and the probes of a load balancer, which knows nothing of the prefix of the API.
// Every other path is 404.
import type { OtherPaths, VersionInfo } from '../../apiserver/discovery/serve-path.ts';
import { sendJson, sendStatus, sendText } from '../../apiserver/wire/respond.ts';
import type { Metrics } from '../../metrics.ts';
import { pathNotFound } from '../../object/meta/status.ts';

export function otherPaths(parts: {
  metrics: Metrics | undefined;
  version: VersionInfo;
  isReady: () => boolean;
  /** Stops readiness alone: a new start would not free the disk. */
  writeTrouble: () => string | undefined;
}): OtherPaths {
  const { metrics, version, isReady, writeTrouble } = parts;
  return async (target, request, response) => {
    const path = (request.url ?? '').split('?', 1)[0];
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (isRead && target.path === '' && /^\/(?:healthz|livez|readyz|readyz\/management)$/.test(path ?? '')) {
      const trouble = isReady()
        ? path?.startsWith('/readyz')
          ? writeTrouble()
          : undefined
        : 'the server is not ready';
      if (trouble === undefined) sendText(response, 200, 'ok');
      else sendText(response, 500, `${trouble}\n`);
    } else if (isRead && target.path === '' && path === '/version') {
      sendJson(response, 200, JSON.stringify(version));
    } else if (isRead && target.path === '/metrics' && metrics !== undefined) {
      sendText(response, 200, await metrics.metrics());
    } else {
      sendStatus(response, pathNotFound());
    }
    return true;
  };
}

/**
 * kubectl wants the semantic version of a Kubernetes API, and warns at each `kubectl version` when it is far from its own: this is
 * the version whose API is served. The version of Hostward stands behind it.
 */
export function versionOf(version: string): VersionInfo {
  return { major: '1', minor: '36', gitVersion: `v1.36.3+hostward-${version}` };
}
