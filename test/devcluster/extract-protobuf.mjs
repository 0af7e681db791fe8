// Rewrites src/devcluster/kinds/shapes/core-protobuf.json from the message definitions in the sources of Kubernetes:
//   node test/devcluster/extract-protobuf.mjs $(go env GOMODCACHE)/k8s.io api@v0.36.3 apimachinery@v0.36.3
// A message is a list of [number, JSON name, type]; a type is a scalar or a message. `[]` before a type means a list, `{}` a map
// with string keys. An empty name means that the fields of the inner message belong to the outer message.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const schemas = JSON.parse(
  readFileSync(new URL('../../src/devcluster/kinds/shapes/core-schemas.json', import.meta.url), 'utf8'),
);
const [modules, api, apimachinery] = process.argv.slice(2);
const files = [
  ['k8s.io.api.core.v1', join(api, 'core/v1')],
  ['k8s.io.api.events.v1', join(api, 'events/v1')],
  ['k8s.io.api.discovery.v1', join(api, 'discovery/v1')],
  ['k8s.io.api.coordination.v1', join(api, 'coordination/v1')],
  ['k8s.io.api.authentication.v1', join(api, 'authentication/v1')],
  ['k8s.io.api.authorization.v1', join(api, 'authorization/v1')],
  ['k8s.io.api.rbac.v1', join(api, 'rbac/v1')],
  ['k8s.io.apimachinery.pkg.apis.meta.v1', join(apimachinery, 'pkg/apis/meta/v1')],
];

const messages = new Map();
for (const [name, folder] of files) {
  const text = readFileSync(join(modules, folder, 'generated.proto'), 'utf8');
  for (const [, message, body] of text.matchAll(/^message (\w+) \{\n([\s\S]*?)^\}/gm)) {
    const fields = [...body.matchAll(/^ {2}(optional|repeated|map<string, ([.\w]+)>) ?([.\w]+)? (\w+) = (\d+);/gm)];
    messages.set(`${name}.${message}`, { package: name, fields });
  }
}

const special = new Map([
  ['k8s.io.apimachinery.pkg.apis.meta.v1.Time', 'time'],
  ['k8s.io.apimachinery.pkg.apis.meta.v1.MicroTime', 'microTime'],
  ['k8s.io.apimachinery.pkg.apis.meta.v1.FieldsV1', 'json'],
  ['k8s.io.apimachinery.pkg.api.resource.Quantity', 'quantity'],
  ['k8s.io.apimachinery.pkg.util.intstr.IntOrString', 'intOrString'],
  ['k8s.io.apimachinery.pkg.runtime.RawExtension', 'json'],
  ['k8s.io.api.authentication.v1.ExtraValue', 'strings'],
  ['k8s.io.api.authorization.v1.ExtraValue', 'strings'],
]);
const scalars = ['string', 'bytes', 'bool', 'int32', 'int64'];
const found = {};

function typeOf(name, inPackage) {
  if (scalars.includes(name)) return name;
  const full = name.startsWith('.')
    ? name.slice(1)
    : messages.has(`${inPackage}.${name}`)
      ? `${inPackage}.${name}`
      : name;
  if (special.has(full)) return special.get(full);
  take(full);
  return full;
}

function take(name) {
  if (name in found) return;
  const message = messages.get(name);
  if (message === undefined) throw new Error(`no message ${name}`);
  found[name] = [];
  const known = schemas[name.replace(/^k8s\.io\./, 'io.k8s.')]?.properties;
  for (const [, label, mapValue, plain, field, number] of message.fields) {
    const mark = label === 'repeated' ? '[]' : mapValue === undefined ? '' : '{}';
    const type = mark + typeOf(mapValue ?? plain, message.package);
    const isInline = known !== undefined && !(field in known) && mark === '' && type.includes('.');
    // A few messages spell a name in other case than JSON does, e.g. uID.
    const spelt = Object.keys(known ?? {}).find((key) => key.toLowerCase() === field.toLowerCase());
    found[name].push([Number(number), isInline ? '' : (spelt ?? field), type]);
  }
}

const wanted = Object.entries(schemas).flatMap(([name, schema]) =>
  schema['x-kubernetes-group-version-kind'] === undefined ? [] : [name.replace(/^io\.k8s\./, 'k8s.io.')],
);
for (const name of [...wanted, 'k8s.io.apimachinery.pkg.apis.meta.v1.DeleteOptions'])
  if (messages.has(name)) take(name);
const sorted = Object.fromEntries(Object.entries(found).sort(([a], [b]) => (a < b ? -1 : 1)));
const lines = Object.entries(sorted).map(([name, fields]) => `${JSON.stringify(name)}: ${JSON.stringify(fields)}`);
writeFileSync(
  new URL('../../src/devcluster/kinds/shapes/core-protobuf.json', import.meta.url),
  `{\n${lines.join(',\n')}\n}\n`,
);
