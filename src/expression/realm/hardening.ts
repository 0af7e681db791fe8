// Code that runs inside the isolate: deletes every builtin that is not on the lists, installs the bounded builtins and freezes every
// reachable object. Afterwards an expression cannot leave any trace for the next one.

export const realmHardening = `
const symbolNames = {
  // Without a prototype, because names like toString are looked up here.
  __proto__: null,
  '@@iterator': Symbol.iterator, '@@hasInstance': Symbol.hasInstance, '@@toPrimitive': Symbol.toPrimitive,
  '@@match': Symbol.match, '@@matchAll': Symbol.matchAll, '@@replace': Symbol.replace, '@@search': Symbol.search,
  '@@split': Symbol.split, '@@toStringTag': Symbol.toStringTag,
};
const put = (object, properties) => {
  for (const name of ownKeys(properties)) {
    defineProperty(object, name, { value: properties[name], writable: false, enumerable: false, configurable: true });
  }
};
const prune = (object, kept) => {
  const keep = new Set(kept.map((name) => symbolNames[name] ?? name));
  for (const key of ownKeys(object)) {
    if (keep.has(key)) continue;
    if (!deleteProperty(object, key) && getOwnPropertyDescriptor(object, key) !== undefined && key !== 'prototype') {
      throw new AnyFault('realm keeps ' + stringOf(key));
    }
  }
};
const globals = globalThis;

const iterators = [
  [][iteratorSymbol](), ''[iteratorSymbol](), new Map()[iteratorSymbol](), new Set()[iteratorSymbol](), 'x'.matchAll(/x/g),
].map(getPrototypeOf);
const iteratorPrototype = getPrototypeOf(iterators[0]);
const functionKinds = [function* () {}, async function () {}, async function* () {}].map(getPrototypeOf);

// Each bounded builtin keeps the native prototype, so that instanceof still works.
for (const [name, bounded, statics] of [
  ['Array', BoundedArray, arrayStatics], ['RegExp', BoundedRegExp, {}], ['Date', BoundedDate, dateStatics],
]) {
  defineProperty(bounded, 'prototype', { value: globals[name].prototype, writable: false });
  defineProperty(bounded, 'name', { value: name });
  put(bounded, statics);
  globals[name] = bounded;
}
put(Object, objectStatics);
put(JSON, jsonStatics);
put(Math, mathStatics);
put(String, textStatics);
for (const [name, methods] of [
  ['Array', arrayMethods], ['String', textMethods], ['Date', dateMethods], ['Map', mapMethods], ['Set', setMethods],
  ['RegExp', patternMethods], ['Error', errorMethods],
]) put(globals[name].prototype, methods);
put(Function.prototype, functionMethods);
put(globals, functionsOfRealm);
put(Number, { parseInt: globals.parseInt, parseFloat: globals.parseFloat });
put(globals, ownFunctions);
put(globals, guards);

const keptGlobals = [
  ...objectKeys(keptStatics), ...globalFunctions, 'undefined', 'NaN', 'Infinity',
  ...objectKeys(ownFunctions), ...objectKeys(guards),
];
const prototypes = [];
for (const name of objectKeys(keptStatics)) {
  prune(globals[name], ['name', 'length', 'prototype', ...keptStatics[name]]);
  if (keptMethods[name] !== undefined) prototypes.push([globals[name].prototype, keptMethods[name]]);
}
prototypes.push([Function.prototype, keptMethods.Function]);
const functionPrototype = Function.prototype;
for (const iterator of iterators) prototypes.push([iterator, ['next']]);
prototypes.push([iteratorPrototype, ['@@iterator']]);
for (const kind of functionKinds) {
  if (kind.prototype !== undefined) prototypes.push([kind.prototype, []]);
  prototypes.push([kind, []]);
}
// Only syntax that the inspection refuses could reach these prototypes.
for (const name of ['Symbol', 'BigInt', 'Promise']) prototypes.push([globals[name].prototype, []]);
// V8 throws these errors, although expressions have no access to their classes.
for (const name of ['ReferenceError', 'URIError']) prototypes.push([globals[name].prototype, ['message', 'name']]);
if (tracedFrames > 0) put(globals.Error, { stackTraceLimit: tracedFrames });
const asyncIterator = getPrototypeOf(getPrototypeOf(functionKinds[2].prototype) ?? {});
for (const [prototype, kept] of prototypes) prune(prototype, kept);
for (const key of ownKeys(restGuards)) {
  defineProperty(ObjectPrototype, key, { get: getOwnPropertyDescriptor(restGuards, key).get, enumerable: false, configurable: true });
}
// A frozen method of the prototype would refuse the same name as a key of data: Object.assign({}, labels) with a label "toString".
for (const name of keptMethods.Object) {
  const method = ObjectPrototype[name];
  const { set } = {
    set(value) {
      defineProperty(this, name, { value, writable: true, enumerable: true, configurable: true });
    },
  };
  defineProperty(ObjectPrototype, name, { get: () => method, set, enumerable: false, configurable: true });
}

const seeds = [...iterators, iteratorPrototype, ...functionKinds, asyncIterator, functionPrototype, globals];
for (const [prototype] of prototypes) seeds.push(prototype);
for (const name of keptGlobals) seeds.push(globals[name]);
// All errors of V8 share one getter and one setter for the stack, and both must be frozen. A small function throws the sample,
// because V8 parses the throwing function again to find the line, and parsing the whole realm would take two milliseconds.
const thrownByV8 = () => {
  try {
    return null.stack;
  } catch (fault) {
    return fault;
  }
};
const stackOfV8 = getOwnPropertyDescriptor(thrownByV8(), 'stack');
if (stackOfV8 !== undefined) seeds.push(stackOfV8.get, stackOfV8.set);

const frozen = new WeakSet();
const isFrozenHere = uncurry(WeakSet.prototype.has);
const noteFrozen = uncurry(WeakSet.prototype.add);
const freezeAll = (roots) => {
  const pending = roots;
  while (pending.length > 0) {
    const object = pending[pending.length - 1];
    pending.length -= 1;
    if ((typeof object !== 'object' && typeof object !== 'function') || object === null || isFrozenHere(frozen, object)) continue;
    noteFrozen(frozen, object);
    if (object !== globals) freeze(object);
    pending[pending.length] = getPrototypeOf(object);
    const names = ownKeys(object);
    for (let at = 0; at < names.length; at++) {
      const property = getOwnPropertyDescriptor(object, names[at]);
      if (property === undefined) continue;
      const { value, get, set } = property;
      if (typeof value === 'function' || typeof value === 'object') pending[pending.length] = value;
      if (get !== undefined) pending[pending.length] = get;
      if (set !== undefined) pending[pending.length] = set;
    }
  }
};
const harden = () => {
  const keep = new Set(keptGlobals);
  for (const key of ownKeys(globals)) {
    if (!keep.has(key) && !deleteProperty(globals, key)) throw new AnyFault('realm keeps the global ' + stringOf(key));
  }
  for (let at = getPrototypeOf(globals); at !== null && at !== ObjectPrototype; at = getPrototypeOf(at)) prune(at, []);
  freezeAll(seeds);
  freeze(globals);
};
`;
