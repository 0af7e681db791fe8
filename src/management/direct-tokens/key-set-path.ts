// Serves GET /.well-known/jwks.json, the public keys of tokens, without authentication.
import type { OtherPaths } from '../../apiserver/discovery/serve-path.ts';
import { sendJson } from '../../apiserver/wire/respond.ts';
import { keySetMaxAgeSeconds, type TokenKeys } from './token-keys.ts';

export function keySetPath(keys: TokenKeys, otherwise: OtherPaths): OtherPaths {
  return async (target, request, response, user, trail) => {
    const isAsked = target.path === '' && /^\/\.well-known\/jwks\.json(?:\?|$)/.test(request.url ?? '');
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (!isAsked || !isRead) return otherwise(target, request, response, user, trail);
    sendJson(response, 200, JSON.stringify(keys.document), {
      'cache-control': `public, max-age=${keySetMaxAgeSeconds}`,
    });
    return true;
  };
}
