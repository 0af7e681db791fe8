// Makes the frames that tell the client of a WebSocket session why the proxy ends it: the failure on the error channel of the
// Kubernetes protocols, and the close frame. Pure: a Status in, bytes out.
import type { Status } from '../../../object/meta/status.ts';

export interface LastFramesOf {
  /** The protocol that the upstream chose. */
  protocol: string;
  /** exec, attach, portforward; empty for another request. */
  subresource: string;
  /** Ports of a port-forward, each with an error channel of its own. */
  ports: number;
  /** Whether the upstream has already sent content on this channel: two results on one channel cannot be read. */
  hasUsed(channel: number): boolean;
  /** Between the frames of one message only a close frame is allowed. */
  isInMessage: boolean;
}

const errorChannel = 3;
const text = 0x81;
const binary = 0x82;
const close = 0x88;
/** kubectl shows the failure on the error channel only if the close frame itself says that all is well. */
const normal = 1000;
const goingAway = 1001;
const policyViolation = 1008;
const internalFault = 1011;
/** Bytes of a reason: the payload of a control frame without the two bytes of the code. */
const longestReason = 123;
/** A channel is one byte, and each port has two. */
const maxPorts = 128;
const base64Zero = 0x30;
/** The error channels of exec and attach, for binary and for base64 protocols. */
export const errorChannels: readonly number[] = [errorChannel, base64Zero + errorChannel];

export function lastFrames(status: Status, of: LastFramesOf): Buffer {
  const results = of.isInMessage ? [] : channelFrames(status, of);
  const isResult = results.length > 0 && of.subresource !== 'portforward';
  return Buffer.concat([...results, closeFrame(isResult ? normal : codeOf(status), status)]);
}

function channelFrames(status: Status, { protocol, subresource, ports, hasUsed }: LastFramesOf): Buffer[] {
  const isBase64 = /^(?:v4\.)?base64\.channel\.k8s\.io$/.test(protocol);
  if (!isBase64 && !/^(?:v[45]\.)?channel\.k8s\.io$/.test(protocol)) return [];
  const first = isBase64 ? base64Zero : 0;
  const message = status.message ?? '';
  if (subresource === 'portforward')
    return Array.from({ length: Math.min(ports, maxPorts) }, (_, port) =>
      channelFrame(first + 2 * port + 1, message, isBase64),
    );
  if (subresource !== 'exec' && subresource !== 'attach') return [];
  if (hasUsed(first + errorChannel)) return [];
  // Before the fourth version, the error channel carries plain text.
  const isObject = protocol.startsWith('v');
  return [channelFrame(first + errorChannel, isObject ? JSON.stringify(status) : message, isBase64)];
}

function channelFrame(channel: number, content: string, isBase64: boolean): Buffer {
  const payload = isBase64 ? Buffer.from(content, 'utf8').toString('base64') : content;
  return frame(isBase64 ? text : binary, Buffer.concat([Buffer.of(channel), Buffer.from(payload, 'utf8')]));
}

function codeOf({ code }: Status): number {
  if (code === 401 || code === 403) return policyViolation;
  return code === 503 ? goingAway : internalFault;
}

function closeFrame(number: number, { message = '' }: Status): Buffer {
  const payload = Buffer.alloc(2 + longestReason);
  payload.writeUInt16BE(number);
  const length = payload.write(message, 2, 'utf8');
  return frame(close, payload.subarray(0, 2 + length));
}

function frame(opcode: number, payload: Buffer): Buffer {
  const { length } = payload;
  if (length < 126) return Buffer.concat([Buffer.of(opcode, length), payload]);
  const head = Buffer.of(opcode, 126, 0, 0);
  head.writeUInt16BE(length, 2);
  return Buffer.concat([head, payload]);
}
