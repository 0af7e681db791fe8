// Code that runs inside the isolate, first part: saves the builtins that the other parts need before anything can change them, and
// defines the guards that the rewritten code of an expression calls. It is text, because it runs in another realm, without Node.

export const realmGuards = `
const { getPrototypeOf, ownKeys, getOwnPropertyDescriptor, defineProperty, deleteProperty, apply, construct } = Reflect;
const { freeze, keys: objectKeys, values: objectValues, entries: objectEntries, assign: objectAssign } = Object;
const isArray = Array.isArray;
const NativeString = String, NativeNumber = Number, NativeArray = Array, NativeDate = Date, NativeRegExp = RegExp;
const TypeFault = TypeError, RangeFault = RangeError, AnyFault = Error;
const ObjectPrototype = Object.prototype, TextPrototype = String.prototype, RegExpPrototype = RegExp.prototype, DatePrototype = Date.prototype;
const parseJson = JSON.parse, stringifyJson = JSON.stringify;
const iteratorSymbol = Symbol.iterator;
const floor = Math.floor, fromCharCode = String.fromCharCode;
const call = Function.prototype.call;
const bind = Function.prototype.bind;
// Makes a function of a method, so that a later change of a prototype cannot replace it.
const uncurry = (f) => apply(bind, call, [f]);
const textSlice = uncurry(String.prototype.slice);
const textIndexOf = uncurry(String.prototype.indexOf);
const charCodeAt = uncurry(String.prototype.charCodeAt);
const isWellFormed = uncurry(String.prototype.isWellFormed);
const regExpTest = uncurry(RegExp.prototype.test);
const setHas = uncurry(Set.prototype.has);
const mapGet = uncurry(WeakMap.prototype.get);
const mapSet = uncurry(WeakMap.prototype.set);

// The kind of a fault of the realm is kept in this map, because an expression could change a property of the fault.
const kinds = new WeakMap();
const fail = (kind, message) => {
  const fault = new TypeFault(message);
  mapSet(kinds, fault, kind);
  throw fault;
};
const tooBig = (what, limit) => fail('size', what + ' is larger than ' + limit);
const tooLong = () => tooBig('text', limits.text + ' characters');
const tooMany = () => tooBig('array', limits.elements + ' elements');

const stringOf = (x) => (typeof x === 'string' ? x : NativeString(x));
const capped = (text) => (text.length > limits.text ? tooLong() : text);

const machinery = new Set(machineryNames);
// An expression cannot name these keys. hardening.ts puts their getters on the prototype of all objects.
const restSymbol = Symbol('rest'), listSymbol = Symbol('list');
const integer = /^(?:0|[1-9][0-9]*)$/;

const guards = {
  $$add(a, b) {
    const sum = a + b;
    return typeof sum === 'string' && sum.length > limits.text ? tooLong() : sum;
  },
  $$str(...parts) {
    let text = '';
    for (let at = 0; at < parts.length; at++) {
      text += stringOf(parts[at]);
      if (text.length > limits.text) tooLong();
    }
    return text;
  },
  // Converts the key once and returns the checked text, because a second conversion of an object could give another text.
  $$key(k) {
    if (typeof k === 'number') return k;
    const key = stringOf(k);
    return setHas(machinery, key) ? fail('threw', '"' + key + '" is not available') : key;
  },
  $$wkey(k) {
    const key = guards.$$key(k);
    if (typeof key === 'number' ? key > limits.elements && key % 1 === 0 : key === 'length' || isFarIndex(key)) {
      fail('size', 'key "' + key + '" cannot be written: wanted a name or an index up to ' + limits.elements);
    }
    return key;
  },
  // V8 quotes one or two texts in a message, so an expression that catches errors in a loop could double a text each time.
  $$caught(thrown) {
    if (typeof thrown === 'object' && thrown !== null && typeof thrown.message === 'string') capped(thrown.message);
  },
  $$turn() {},
  $$rest: restSymbol,
  $$list: listSymbol,
  $$len(n) {
    return typeof n === 'number' && n <= limits.elements ? n : tooMany();
  },
  $$iter(x) {
    if (x === undefined || x === null || typeof x[iteratorSymbol] !== 'function') {
      throw new TypeFault('wanted something to iterate over, found ' + (x === null ? 'null' : typeof x));
    }
    return guards.$$obj(x);
  },
  // A String object has a key for each character, as a text has.
  $$obj(x) {
    const hasElements = typeof x === 'string' || isArray(x) || (typeof x === 'object' && x !== null && getPrototypeOf(x) === TextPrototype);
    return hasElements && x.length > limits.elements ? tooMany() : x;
  },
};
// Rest elements in a pattern build a list or an object, so their source has the same size limit as the source of a spread.
const restGuards = {
  get [restSymbol]() {
    guards.$$obj(this);
    return 0;
  },
  get [listSymbol]() {
    return guards.$$obj(this);
  },
};
const isFarIndex = (key) => key.length > 5 && regExpTest(integer, key) && NativeNumber(key) > limits.elements;
`;
