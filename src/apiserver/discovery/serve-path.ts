// Serves the paths that are not resources: version, health, discovery and OpenAPI.

import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pathNotFound } from '../../object/meta/status.ts';
import type { Catalog } from '../kinds/catalog.ts';
import { negotiate } from '../request/negotiate.ts';
import type { Target } from '../request/target.ts';
import { type Headers, sendBytes, sendJson, sendStatus, sendText } from '../wire/respond.ts';
import { discoveryDocument } from './discovery.ts';
import { OpenApi } from './openapi.ts';
import { openApiV2Type } from './openapi-v2.ts';

export interface VersionInfo {
  major: string;
  minor: string;
  gitVersion: string;
}

export interface ServedPathsOptions {
  catalog: Catalog;
  version: VersionInfo;
  /** Of every path; a redirect needs it. */
  pathPrefix: string;
  now: () => Date;
  /** Lifecycle state of the server; only `ready` is healthy. */
  state: () => string;
  /** What keeps a server that runs from being ready. */
  readyTrouble?: (() => string | undefined) | undefined;
}

/** Each may be asked for by its name, e.g. `/livez/ping`. */
const checks = ['ping', 'server'];
const yearMs = 365 * 24 * 60 * 60 * 1000;

export class ServedPaths {
  readonly #options: ServedPathsOptions;
  readonly #openApi: OpenApi;

  constructor(options: ServedPathsOptions) {
    this.#options = options;
    this.#openApi = new OpenApi(options.catalog, options.version.gitVersion);
  }

  serve(target: Target, request: IncomingMessage, response: ServerResponse): void {
    if (target.verb === 'get' && this.#serveOwn(target, request, response)) return;
    if (this.#options.catalog.dialect === 'strict') sendStatus(response, pathNotFound());
    else sendText(response, 404, '404 page not found\n');
  }

  /** Returns true when the path is one of the kit's own and has been answered. */
  #serveOwn({ path, query }: Target, request: IncomingMessage, response: ServerResponse): boolean {
    if (path === '/version' || path === '/version/') {
      sendJson(response, 200, JSON.stringify(versionDocument(this.#options.version)));
    } else if (/^\/(healthz|livez|readyz)(\/|$)/.test(path)) {
      return this.#health(path, query, response);
    } else if (path === '/openapi/v3' || path.startsWith('/openapi/v3/')) {
      const document = this.#openApi.document(path);
      if (document === undefined) return false;
      this.#sendOpenApi(path, query.get('hash'), document, request, response);
    } else if (path === '/openapi/v2') {
      this.#serveV2(request, response);
    } else if (/^\/apis?(\/|$)/.test(path)) {
      this.#discover(path, request, response);
    } else if (path === '/') {
      const paths = ['/api', '/apis', '/healthz', '/openapi/v2', '/openapi/v3', '/version'];
      sendJson(response, 200, JSON.stringify({ paths }));
    } else return false;
    return true;
  }

  #discover(path: string, request: IncomingMessage, response: ServerResponse): void {
    const { aggregated } = negotiate(request.headers.accept);
    const document = discoveryDocument(this.#options.catalog, path, aggregated);
    if (document === undefined) {
      refuseUnknownGroup(this.#options.catalog, path, response);
      return;
    }
    const isAggregated = (document as { kind?: string }).kind === 'APIGroupDiscoveryList';
    const type = `application/json;g=apidiscovery.k8s.io;v=${aggregated};as=APIGroupDiscoveryList`;
    const json = JSON.stringify(document);
    if (!isAggregated) {
      sendJson(response, 200, json, { vary: 'Accept' });
      return;
    }
    const etag = `"${createHash('sha512').update(json).digest('hex').toUpperCase()}"`;
    const headers = { 'content-type': type, vary: 'Accept', etag, 'cache-control': 'public' };
    sendUnlessKnown(json, headers, request, response);
  }

  /** Under its hash a document never changes; under an old hash the client is led to the new one. */
  #sendOpenApi(
    path: string,
    asked: string | null,
    { json, hash }: { json: string; hash?: string },
    request: IncomingMessage,
    response: ServerResponse,
  ): void {
    if (hash === undefined) {
      sendJson(response, 200, json, { 'cache-control': 'no-cache, private' });
      return;
    }
    if (asked !== null && asked !== hash) {
      const location = `${this.#options.pathPrefix}${path}?hash=${hash}`;
      sendText(response, 301, '', { location });
      return;
    }
    const etag = `"${hash}"`;
    const isFixed = asked !== null;
    const expires = new Date(this.#options.now().getTime() + yearMs).toUTCString();
    const cached: Headers = isFixed ? { 'cache-control': 'public, immutable', expires } : {};
    sendUnlessKnown(json, { ...cached, etag }, request, response);
  }

  #serveV2(request: IncomingMessage, response: ServerResponse): void {
    const { json, bytes } = this.#openApi.v2;
    // kubectl spells the media type with an @, which a media type must not contain, and accepts only this protobuf form.
    if (request.headers.accept?.includes('proto-openapi.spec.v2') !== true) sendJson(response, 200, json);
    else sendBytes(response, 200, bytes, { 'content-type': openApiV2Type });
  }

  /** Returns false for a check that does not exist: a probe of it must not seem to pass. */
  #health(path: string, query: URLSearchParams, response: ServerResponse): boolean {
    const [, name = '', check = ''] = path.split('/');
    if (path.split('/').length > 3 || (check !== '' && !checks.includes(check))) return false;
    const state = this.#options.state();
    const trouble = name === 'readyz' ? this.#options.readyTrouble?.() : undefined;
    const isReady = state === 'ready' && trouble === undefined;
    if (!query.has('verbose')) {
      sendText(response, isReady ? 200 : 500, isReady ? 'ok' : `${trouble ?? `the server is ${state}`}\n`);
      return true;
    }
    const lines = ['[+]ping ok', isReady ? '[+]server ok' : '[-]server failed: reason withheld'];
    const verdict = `${name} check ${isReady ? 'passed' : 'failed'}`;
    sendText(response, isReady ? 200 : 500, `${[...lines, verdict].join('\n')}\n`);
    return true;
  }
}

/** A client that has the text already gets 304 without it. */
function sendUnlessKnown(
  json: string,
  headers: Headers & { etag: string },
  request: IncomingMessage,
  response: ServerResponse,
): void {
  if (request.headers['if-none-match'] !== headers.etag) {
    sendJson(response, 200, json, headers);
    return;
  }
  const { 'content-type': _type, ...kept } = headers;
  response.writeHead(304, kept);
  response.end();
}

/** Like the real server: a Status for paths in a served group, plain text for every other path. */
export function refuseUnknownGroup(catalog: Catalog, path: string, response: ServerResponse): void {
  const [, root, group = ''] = path.split('/');
  if (root === 'api' || catalog.hasGroup(group) || catalog.dialect === 'strict') sendStatus(response, pathNotFound());
  else sendText(response, 404, '404 page not found\n');
}

function versionDocument({ major, minor, gitVersion }: VersionInfo): object {
  return {
    major,
    minor,
    gitVersion,
    gitCommit: '',
    gitTreeState: '',
    buildDate: '',
    goVersion: '',
    compiler: '',
    platform: 'linux/amd64',
  };
}
