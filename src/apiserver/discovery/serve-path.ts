// Serves the paths that are not resources: version, health, discovery, OpenAPI and the tenant's own paths.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pathNotFound } from '../../object/meta/status.ts';
import type { Catalog } from '../kinds/catalog.ts';
import type { User } from '../request/identity.ts';
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

/** Resolves to true when the function has sent an answer. */
export type OtherPaths = (
  target: Target,
  request: IncomingMessage,
  response: ServerResponse,
  user: User,
) => Promise<boolean>;

export interface ServedPathsOptions {
  catalog: Catalog;
  version: VersionInfo;
  otherPaths: OtherPaths | undefined;
  /** Lifecycle state of the server; only `ready` is healthy. */
  state: () => string;
}

export class ServedPaths {
  readonly #options: ServedPathsOptions;
  readonly #openApi: OpenApi;

  constructor(options: ServedPathsOptions) {
    this.#options = options;
    this.#openApi = new OpenApi(options.catalog, options.version.gitVersion);
  }

  async serve(target: Target, request: IncomingMessage, response: ServerResponse, user: User): Promise<void> {
    if (target.verb === 'get' && this.#serveOwn(target, request, response)) return;
    if (await this.#options.otherPaths?.(target, request, response, user)) return;
    sendText(response, 404, '404 page not found\n');
  }

  /** Returns true when the path is one of the kit's own and has been answered. */
  #serveOwn({ path }: Target, request: IncomingMessage, response: ServerResponse): boolean {
    if (path === '/version' || path === '/version/') {
      sendJson(response, 200, JSON.stringify(versionDocument(this.#options.version)));
    } else if (/^\/(healthz|livez|readyz)(\/|$)/.test(path)) {
      this.#health(response);
    } else if (path === '/openapi/v3' || path.startsWith('/openapi/v3/')) {
      const document = this.#openApi.document(path);
      if (document === undefined) return false;
      sendJson(response, 200, document, { 'cache-control': 'no-cache, private' });
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
    const headers: Headers = isAggregated ? { 'content-type': type, vary: 'Accept' } : { vary: 'Accept' };
    sendJson(response, 200, JSON.stringify(document), headers);
  }

  #serveV2(request: IncomingMessage, response: ServerResponse): void {
    const { json, bytes } = this.#openApi.v2;
    // kubectl spells the media type with an @, which a media type must not contain, and accepts only this protobuf form.
    if (request.headers.accept?.includes('proto-openapi.spec.v2') !== true) sendJson(response, 200, json);
    else sendBytes(response, 200, bytes, { 'content-type': openApiV2Type });
  }

  #health(response: ServerResponse): void {
    const state = this.#options.state();
    if (state === 'ready') sendText(response, 200, 'ok');
    else sendText(response, 500, `the server is ${state}\n`);
  }
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
