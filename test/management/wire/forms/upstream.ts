// The cluster behind the proxy, for a fuzz: writes down what arrives, and judges it by what DESIGN-management says of the way there.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ManagementSettings } from '../../../../src/config/settings/management-settings.ts';
import type { MatrixKey, MatrixTarget } from '../../matrix-case.ts';
import { kubeconfigText } from '../../proxy/upstream.ts';
import { prefixOf, type WireRequest } from '../request-url.ts';
import type { Sent } from './forms.ts';

export interface Arrival {
  method: string;
  url: string;
  headers: [name: string, value: string][];
  body: string;
}

/** What the server itself says of the client. */
const trueWords: Readonly<Record<string, string>> = {
  'x-forwarded-for': '127.0.0.1',
  'x-forwarded-proto': 'https',
  'x-forwarded-host': 'localhost',
};
const upstreamToken = 'upstream-secret';
/** The first words of a session. */
export const hello = 'hello ';

export class Upstream {
  /** By the User-Agent of the sender, which names its seed. */
  readonly arrivals = new Map<string, Arrival[]>();
  #server: Server;
  #folder = mkdtempSync(join(tmpdir(), 'hostward-behind-'));
  #sockets = new Set<Socket>();

  constructor() {
    this.#server = createServer((request, response) => {
      const arrival = this.#note(request);
      request.on('data', (part: Buffer) => {
        arrival.body += part.toString('latin1');
      });
      request.on('end', () => {
        // Hostward itself asks about its rights.
        const isReview = request.url?.endsWith('accessreviews') === true;
        response.writeHead(isReview ? 201 : 200, { 'content-type': 'application/json' });
        response.end(JSON.stringify(isReview ? { status: { allowed: true } } : { kind: 'Status', status: 'Success' }));
      });
    });
    this.#server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
      this.#note(request);
      this.#upgrade(request, socket, head);
    });
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  /** As the client has asked for in a header of its own. */
  #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    socket.on('error', () => undefined);
    switch (request.headers['x-behind']) {
      case 'switches':
      case 'switches to another': {
        const isAsked = request.headers['x-behind'] === 'switches';
        const protocol = isAsked ? request.headers.upgrade : 'another/1.0';
        socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n${hello}`);
        if (head.length > 0) socket.write(head);
        socket.pipe(socket);
        return;
      }
      case 'says no': {
        // It stays open: whatever comes now was to be a second request.
        socket.write('HTTP/1.1 409 Conflict\r\nContent-Length: 2\r\n\r\nno');
        if (head.length > 0) this.#note(request);
        socket.once('data', () => this.#note(request));
        return;
      }
      default:
        socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
    }
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    const { port } = this.#server.address() as AddressInfo;
    writeFileSync(this.kubeconfig, kubeconfigText(`http://127.0.0.1:${port}`, upstreamToken));
  }

  /** Every cluster and virtual cluster of the configuration is this server. */
  behind(settings: ManagementSettings): ManagementSettings {
    const { kubeconfig } = this;
    return {
      ...settings,
      clusters: settings.clusters.map((one) => ({ ...one, kubeconfig })),
      projects: settings.projects.map((project) => ({
        ...project,
        virtualClusters: project.virtualClusters.map((one) => ({ ...one, kubeconfig })),
      })),
    };
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  get kubeconfig(): string {
    return join(this.#folder, 'kubeconfig');
  }

  #note({ method = '', url = '', headers, rawHeaders }: IncomingMessage): Arrival {
    const pairs: [string, string][] = [];
    for (let at = 0; at < rawHeaders.length; at += 2)
      pairs.push([(rawHeaders[at] as string).toLowerCase(), rawHeaders[at + 1] as string]);
    const arrival = { method, url, headers: pairs, body: '' };
    const sender = headers['user-agent'] ?? '';
    this.arrivals.set(sender, [...(this.arrivals.get(sender) ?? []), arrival]);
    return arrival;
  }
}

/** The subject of the key must arrive, nothing of what the client says about persons, and the request that was judged. */
export function arrivalFaults(
  arrival: Arrival,
  about: { key: MatrixKey; secret: string; wire: WireRequest; target: MatrixTarget; sent: Sent },
): string[] {
  const { key, secret, wire, sent } = about;
  const prefix = prefixOf(about.target);
  const found: string[] = [];
  const values = (name: string) => arrival.headers.filter(([one]) => one === name).map(([, value]) => value);
  const is = (name: string, want: string) => {
    if (values(name).join() !== want) found.push(`arrived with ${name} "${values(name).join()}" instead of "${want}"`);
  };
  is('impersonate-user', upstreamUser(key));
  is('authorization', `Bearer ${upstreamToken}`);
  for (const group of values('impersonate-group'))
    if (!/^(hostward:(project:[^:]+:(viewer|user|admin)|group:.+)|system:authenticated)$/.test(group))
      found.push(`arrived in the group "${group}"`);
  for (const [name, value] of arrival.headers) {
    const isOurs = /^impersonate-(user|group|extra-hostward\.dev%2f(key|subject))$/.test(name);
    if (/^(impersonate|x[-_]remote|x[-_]forwarded)[-_]/.test(name) && !isOurs && trueWords[name] !== value)
      found.push(`arrived with ${name}: ${value}`);
    if (['cookie', 'x-named', 'proxy-authorization', 'forwarded'].includes(name)) found.push(`arrived with ${name}`);
    const isHere = value.includes(secret) || value.includes(Buffer.from(secret).toString('base64url'));
    if (isHere) found.push(`the credential arrived in ${name}`);
  }
  if (arrival.url.includes(secret)) found.push('the credential arrived in the URL');
  // The same place, without the words that lead there; a form may change the path, and then the changed one was judged.
  const [path = '', query = ''] = arrival.url.split(/\?(.*)/s);
  const places = [wire.path, sent.target].map((text) => text.split('?')[0]?.slice(prefix.length) || '/');
  if (!places.includes(path)) found.push(`arrived at "${path}" instead of "${places[0]}"`);
  if (arrival.method !== sent.method) found.push(`arrived as ${arrival.method} instead of ${sent.method}`);
  const asked = sent.headers.find(([name]) => name.toLowerCase() === 'upgrade')?.[1] ?? '';
  if (!['', asked].includes(values('upgrade').join())) found.push(`arrived with upgrade ${values('upgrade').join()}`);
  if (values('sec-websocket-protocol').some((value) => value.includes('bearer')))
    found.push('arrived with a credential among the protocols');
  // As kube-apiserver reads it: the first of several counts, and these words alone are no.
  const watch = new URLSearchParams(query).get('watch');
  const isWatch = watch !== null && !['false', 'False', 'FALSE', 'f', 'F', '0'].includes(watch);
  const mayWatch = /[?&](w%61tch|watch)=(1|true|tru%65)/.test(sent.target) && !sent.target.includes('watch=false');
  if (isWatch && !mayWatch) found.push(`arrived as a watch: ${arrival.url}`);
  if (
    wire.body !== undefined &&
    arrival.body !== '' &&
    JSON.stringify(wire.body) !== JSON.stringify(parsed(arrival.body))
  )
    found.push(`arrived with the body ${arrival.body}`);
  return found;
}

function upstreamUser({ user, team }: MatrixKey): string {
  if (user !== undefined) return `hostward:user:${user}`;
  return team === undefined ? 'hostward:subject' : `hostward:team:${team}`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
