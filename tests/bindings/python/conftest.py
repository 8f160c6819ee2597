"""One thread a test program: two of them run at once."""
import cebus

cebus.configure("cpu", threads=1)
