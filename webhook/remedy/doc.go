// Package remedy says what to do about what is wrong with a handler, and in which
// order: a runtime that is restarted before its files are mended loses what it still
// has. It knows neither clients nor clocks.
package remedy
