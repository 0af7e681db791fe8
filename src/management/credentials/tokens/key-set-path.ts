// Serves GET /.well-known/jwks.json, the public keys of tokens, without authentication.
import type { Route } from '../../../apiserver/chain/chain.ts';
import { sendJson } from '../../../apiserver/wire/respond.ts';
import { keySetMaxAgeSeconds, type TokenKeys } from './token-keys.ts';

export function keySetPath(keys: TokenKeys): Route {
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
