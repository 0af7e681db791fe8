import { expect, test } from 'vitest';
import { explain } from '../../../src/cluster/wire/explain.ts';

const withCode = (code: string, message = 'words') => Object.assign(new Error(message), { code });

const cases: { error: unknown; words: string }[] = [
  { error: withCode('ECONNREFUSED'), words: 'connecting to "https://s": connection refused, nothing listens there' },
  { error: withCode('ENOTFOUND'), words: 'connecting to "https://s": the name cannot be resolved (ENOTFOUND)' },
  { error: withCode('ENETUNREACH'), words: 'connecting to "https://s": no route to it (ENETUNREACH)' },
  { error: withCode('UND_ERR_CONNECT_TIMEOUT'), words: 'connecting to "https://s": no answer in time' },
  { error: withCode('ECONNRESET'), words: 'talking to "https://s": the connection was cut (words)' },
  { error: withCode('CERT_NOT_YET_VALID'), words: 'verifying the certificate of "https://s": it is not valid yet' },
  {
    error: withCode('ERR_SSL_TLSV1_ALERT_UNKNOWN_CA'),
    words: 'speaking TLS with "https://s": the server refused our client certificate or our way of TLS (words)',
  },
  {
    error: withCode('ERR_OSSL_PEM_NO_START_LINE'),
    words: 'preparing TLS for "https://s": a certificate or key cannot be used (words)',
  },
  { error: new Error('odd'), words: 'talking to "https://s": the request failed (odd)' },
  { error: 'not even an error', words: 'talking to "https://s": the request failed (not even an error)' },
  {
    error: new Error('outer', { cause: withCode('ECONNREFUSED') }),
    words: 'connecting to "https://s": connection refused, nothing listens there',
  },
  {
    error: new AggregateError([withCode('ECONNREFUSED'), withCode('ENETUNREACH')]),
    words: 'connecting to "https://s": connection refused, nothing listens there',
  },
];

for (const { error, words } of cases) {
  test(`explain() says: ${words}`, () => {
    const explained = explain(error, 'https://s', 'kubeconfig "k"');
    expect(explained.message).toBe(words);
    expect(explained.fix).not.toBe('');
  });
}

test('explain() separates errors that end when the server comes up from errors that a person must fix', () => {
  const mayPass = (code: string) => explain(withCode(code), 'https://s', 'k').mayPass;
  const passing = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ENETUNREACH', 'ETIMEDOUT', 'ECONNRESET', 'ODD'];
  expect(passing.map(mayPass)).toEqual(passing.map(() => true));
  const lasting = [
    'SELF_SIGNED_CERT_IN_CHAIN',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'CERT_HAS_EXPIRED',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'ERR_SSL_WRONG_VERSION_NUMBER',
    'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA',
    'ERR_OSSL_PEM_NO_START_LINE',
    'HPE_INVALID_CONSTANT',
  ];
  expect(lasting.map(mayPass)).toEqual(lasting.map(() => false));
});

test('a server without a certificate yet is worth waiting for', () => {
  const { message, mayPass } = explain(withCode('ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR'), 'https://s', 'k');
  expect({ message, mayPass }).toEqual({
    message: 'speaking TLS with "https://s": the server has no certificate for us, or not yet (words)',
    mayPass: true,
  });
});

test('explain() does not hang on causes that run in a ring, and lets no control characters through', () => {
  const ring = new Error('a\u001b[31mb\nc');
  ring.cause = new Error('inner', { cause: ring });
  expect(explain(ring, 'https://s', 'k').message).not.toMatch(/\p{Cc}/u);
});
