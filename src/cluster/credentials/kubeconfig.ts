// Selects the cluster and the user of the current context in one kubeconfig file, and reports all faults at once. Every
// reading of the credentials reads the file again, so that a rewritten file takes effect. Only small modules of
// client-node are loaded: the whole library would double the memory of the daemon.
import { dirname, isAbsolute, join } from 'node:path';
import { isRecord, recordsIn } from '../../object/text/json.ts';
import { urlWithoutUser } from '../../object/text/url-user.ts';
import type { ClusterFault } from '../errors.ts';
import { CredentialsError, excerpt, messageOf } from '../errors.ts';
import type { ClusterAccess, Credentials, CredentialsResult } from './access.ts';
import { readUser, type SelectedContext } from './kubeconfig-user.ts';
import { isMissing, readNamedFile, reasonOf } from './secret-file.ts';

export interface KubeconfigOptions {
  path: string;
  environment: Readonly<Record<string, string | undefined>>;
  /** An address in place of the one in the file. */
  server?: string | undefined;
}

export async function openKubeconfig(options: KubeconfigOptions): Promise<CredentialsResult> {
  const first = await select(options.path);
  if (first.kind === 'faults') return first;
  const { cluster, context, namespace } = first.selected;
  const read = async (): Promise<ClusterAccess> => {
    const again = await select(options.path);
    if (again.kind === 'faults') throw new CredentialsError(again.faults);
    const { cluster: now } = again.selected;
    const user = await readUser(again.selected, options.environment);
    return { ...user, server: options.server ?? serverOf(now), proxy: await loadProxy(now) };
  };
  const credentials = {
    server: options.server ?? serverOf(cluster),
    source: `kubeconfig "${options.path}", context "${context}"`,
    namespace,
    proxy: await loadProxy(cluster),
    read,
  };
  return { kind: 'ok', credentials };
}

function serverOf({ server }: SelectedContext['cluster']): string {
  return server.replace(/\/+$/, '');
}

async function loadProxy({ proxyUrl: url }: SelectedContext['cluster']): Promise<Credentials['proxy']> {
  if (url === undefined) return undefined;
  // The whole of undici is needed: other modules add methods that the proxy agent calls.
  const { ProxyAgent } = await import('undici');
  return { url, Agent: ProxyAgent };
}

export type ContextResult =
  | { kind: 'ok'; selected: SelectedContext }
  | { kind: 'faults'; faults: readonly ClusterFault[] };

async function select(path: string): Promise<ContextResult> {
  try {
    return await selectIn(path, await readNamedFile(path));
  } catch (error) {
    const message = `reading kubeconfig "${path}": ${reasonOf(error)}`;
    const fix = 'name a kubeconfig file that exists and can be read';
    const mayPass = isMissing(error) && { mayPass: true };
    return { kind: 'faults', faults: [{ code: 'CLUSTER_KUBECONFIG_UNREADABLE', message, fix, ...mayPass }] };
  }
}

/** What the current context of a text selects. `path` is used in messages, and the files that the text names count from its folder. */
export async function selectIn(path: string, text: string): Promise<ContextResult> {
  const loaded = await parse(path, text);
  if (loaded.kind === 'faults') return loaded;
  const faults: ClusterFault[] = [];
  const fault = (code: ClusterFault['code'], message: string, fix: string) =>
    faults.push({ code, message: `reading kubeconfig "${path}": ${message}`, fix });

  const current = loaded.document['current-context'];
  if (typeof current !== 'string' || current === '') {
    const names = namesIn(loaded.document['contexts']);
    fault('CLUSTER_CONTEXT_MISSING', 'it has no current-context', contextFix(names));
    return { kind: 'faults', faults };
  }
  const context = entryOf(loaded.document['contexts'], current)?.['context'];
  if (!isRecord(context)) {
    const names = namesIn(loaded.document['contexts']);
    fault(
      'CLUSTER_CONTEXT_MISSING',
      `its current-context "${excerpt(current)}" is not among its contexts`,
      contextFix(names),
    );
    return { kind: 'faults', faults };
  }
  const clusterEntry = entryOf(loaded.document['clusters'], context['cluster']);
  const userEntry = entryOf(loaded.document['users'], context['user']);
  if (clusterEntry === undefined)
    fault(
      'CLUSTER_CONTEXT_MISSING',
      `its context "${excerpt(current)}" names the cluster "${excerpt(String(context['cluster']))}", which is not in the file`,
      nameFix('cluster', namesIn(loaded.document['clusters'])),
    );
  if (userEntry === undefined)
    fault(
      'CLUSTER_CONTEXT_MISSING',
      `its context "${excerpt(current)}" names the user "${excerpt(String(context['user']))}", which is not in the file`,
      nameFix('user', namesIn(loaded.document['users'])),
    );
  const server = isRecord(clusterEntry?.['cluster']) ? clusterEntry['cluster']['server'] : undefined;
  if (clusterEntry !== undefined) {
    const where = `the server of cluster "${excerpt(String(context['cluster']))}" is "${excerpt(urlWithoutUser(String(server)))}"`;
    if (!isServerUrl(server))
      fault('CLUSTER_KUBECONFIG_INVALID', `${where}, not an http or https address`, 'write it like https://host:6443');
    else if (namesUser(server))
      fault(
        'CLUSTER_KUBECONFIG_INVALID',
        `${where}, an address with a user`,
        'write the address alone, and the user as username and password in its entry below users',
      );
  }
  const proxy = isRecord(clusterEntry?.['cluster']) ? clusterEntry['cluster']['proxy-url'] : undefined;
  // Proxies of other kinds would serve requests, and no watch.
  if (proxy !== undefined && proxy !== null && proxy !== '' && !isServerUrl(proxy))
    fault(
      'CLUSTER_KUBECONFIG_INVALID',
      `the proxy-url of cluster "${excerpt(String(context['cluster']))}" is "${excerpt(urlWithoutUser(String(proxy)))}", not an http or https address`,
      'write it like http://proxy:3128; other kinds of proxies are not supported',
    );
  if (faults.length > 0 || clusterEntry === undefined || userEntry === undefined) return { kind: 'faults', faults };
  return { kind: 'ok', selected: await selectedOf(path, current, context, clusterEntry, userEntry) };
}

async function selectedOf(
  path: string,
  name: string,
  context: Record<string, unknown>,
  clusterEntry: Record<string, unknown>,
  userEntry: Record<string, unknown>,
): Promise<SelectedContext> {
  const { newClusters, newUsers } = await import('@kubernetes/client-node/dist/config_types.js');
  const rawUser = isRecord(userEntry['user']) ? userEntry['user'] : {};
  const [cluster] = newClusters([clusterEntry]);
  // client-node would read the deprecated `token-file` itself and report no error, so we read that file ourselves.
  const { 'token-file': _, ...withoutTokenFile } = rawUser;
  const [user] = newUsers([{ ...userEntry, user: withoutTokenFile }]);
  if (cluster === undefined || user === undefined) throw new Error('client-node dropped a valid kubeconfig entry');
  const folder = dirname(path);
  return {
    cluster: { ...cluster, caFile: absolute(folder, cluster.caFile) },
    user: { ...user, certFile: absolute(folder, user.certFile), keyFile: absolute(folder, user.keyFile) },
    rawUser: { ...rawUser, tokenFile: absolute(folder, rawUser['tokenFile'] ?? rawUser['token-file']) },
    context: name,
    namespace: typeof context['namespace'] === 'string' ? context['namespace'] : undefined,
  };
}

type ParsedFile = { kind: 'ok'; document: Record<string, unknown> } | { kind: 'faults'; faults: ClusterFault[] };

async function parse(path: string, text: string): Promise<ParsedFile> {
  const faults = (code: ClusterFault['code'], message: string, fix: string): ParsedFile => ({
    kind: 'faults',
    faults: [{ code, message: `reading kubeconfig "${path}": ${message}`, fix }],
  });
  const { parseDocument } = await import('yaml');
  const document = parseDocument(text);
  const problem = document.errors[0];
  if (problem !== undefined)
    return faults(
      'CLUSTER_KUBECONFIG_INVALID',
      `it is not YAML: ${firstLine(problem.message)}`,
      'mend the file at that line',
    );
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    return faults(
      'CLUSTER_KUBECONFIG_INVALID',
      `it is not usable YAML: ${messageOf(error)}`,
      'write it without aliases',
    );
  }
  if (!isRecord(value))
    return isEncoded(value)
      ? faults('CLUSTER_KUBECONFIG_INVALID', 'it is base64, as a Secret holds it', 'decode it with base64 -d')
      : faults(
          'CLUSTER_KUBECONFIG_INVALID',
          'wanted a map with clusters, users and contexts, found something else',
          'name a kubeconfig file',
        );
  const { kind } = value;
  if (typeof kind === 'string' && kind !== 'Config' && value['contexts'] === undefined)
    return faults(
      'CLUSTER_KUBECONFIG_INVALID',
      `it is a Kubernetes object of the kind "${excerpt(kind)}", not a kubeconfig`,
      "write what it holds into a file; for a Secret of vCluster: kubectl get secret vc-NAME -o jsonpath='{.data.config}' | base64 -d",
    );
  return { kind: 'ok', document: value };
}

/** As people copy it out of a Secret. */
function isEncoded(value: unknown): boolean {
  return typeof value === 'string' && Buffer.from(value, 'base64').toString('utf8').includes('current-context');
}

function entryOf(list: unknown, name: unknown): Record<string, unknown> | undefined {
  return recordsIn(list).find((entry) => entry['name'] === name);
}

function namesIn(list: unknown): string[] {
  return recordsIn(list).map((entry) => excerpt(String(entry['name'])));
}

function contextFix(names: readonly string[]): string {
  return names.length === 0
    ? 'add a context, and name it as current-context'
    : `set current-context to ${oneOf(names)}`;
}

function nameFix(what: 'cluster' | 'user', names: readonly string[]): string {
  return names.length === 0
    ? `the file has no ${what}: get a new kubeconfig from its cluster`
    : `name one of its ${what}s: ${oneOf(names)}`;
}

function oneOf(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ');
}

/** The parser appends an excerpt of the file, which may hold secrets, so only the first line is kept. */
function firstLine(message: string): string {
  return excerpt(message.split('\n', 1)[0] ?? '').replace(/:$/, '');
}

function isServerUrl(text: unknown): text is string {
  if (typeof text !== 'string' || !URL.canParse(text)) return false;
  const { protocol } = new URL(text);
  return protocol === 'https:' || protocol === 'http:';
}

/** Nobody would read them there. */
function namesUser(url: string): boolean {
  const { username, password } = new URL(url);
  return username !== '' || password !== '';
}

function absolute(folder: string, path: unknown): string | undefined {
  if (typeof path !== 'string' || path === '') return undefined;
  return isAbsolute(path) ? path : join(folder, path);
}
